-- Accepted grants.

CREATE OR REPLACE VIEW report_grants AS
SELECT
    t.cluster AS cluster,
    t.pool AS pool,
    t.account AS account,
    t.grant AS grant,
    t.amount_gpu_ms AS amount_gpu_ms,
    t.since AS since,
    t.until AS until,
    t.author AS author,
    t.reason AS reason,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM grants AS t FINAL
INNER JOIN settled AS s ON s.cluster = t.cluster
WHERE t.generation = (SELECT generation FROM live) AND t.seq <= s.settled_seq;
