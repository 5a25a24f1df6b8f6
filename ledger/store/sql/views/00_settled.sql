-- What the public views read through: the generation shown, and how far each of its clusters is settled.

CREATE OR REPLACE VIEW live AS
SELECT argMax(generation, revision) AS generation FROM generations;

CREATE OR REPLACE VIEW settled AS
SELECT cluster, max(c.seq) AS settled_seq, max(c.ticked_at) AS ticked_at
FROM partition_checkpoints AS c FINAL
WHERE c.generation = (SELECT generation FROM live)
GROUP BY cluster;
