-- Every leg of every settled transaction.

CREATE OR REPLACE VIEW report_postings AS
SELECT
    p.cluster AS cluster,
    p.pool AS pool,
    p.hour AS hour,
    p.book AS book,
    p.account AS account,
    p.class AS class,
    p.kind AS kind,
    p.node AS node,
    p.run AS run,
    lower(hex(p.cause)) AS cause,
    p.amount_gpu_ms AS amount_gpu_ms,
    p.seq AS seq,
    p.recorded_at AS recorded_at
FROM postings AS p FINAL
INNER JOIN settled AS s ON s.cluster = p.cluster
WHERE p.generation = (SELECT generation FROM live) AND p.seq <= s.settled_seq;
