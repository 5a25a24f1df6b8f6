-- The latest settled version of each leaf account's closed hours.

CREATE OR REPLACE VIEW report_account_hours AS
SELECT
    h.cluster AS cluster,
    h.pool AS pool,
    h.account AS account,
    h.hour AS hour,
    argMax(h.claim_gpu_ms, h.seq) AS claim_gpu_ms,
    argMax(h.grant_gpu_ms, h.seq) AS grant_gpu_ms,
    argMax(h.charged_gpu_ms, h.seq) AS charged_gpu_ms,
    argMax(h.refunded_gpu_ms, h.seq) AS refunded_gpu_ms,
    argMax(h.demand_gpu_ms, h.seq) AS demand_gpu_ms,
    argMax(h.owed_gpu_ms, h.seq) AS owed_gpu_ms,
    argMax(h.commitment_gpu_ms, h.seq) AS commitment_gpu_ms,
    argMax(h.unfunded_gpu_ms, h.seq) AS unfunded_gpu_ms,
    charged_gpu_ms - refunded_gpu_ms AS delivered_gpu_ms,
    least(delivered_gpu_ms, owed_gpu_ms) AS met_gpu_ms,
    count() AS versions,
    max(h.seq) AS seq,
    max(h.recorded_at) AS recorded_at
FROM account_hours AS h FINAL
INNER JOIN settled AS s ON s.cluster = h.cluster
WHERE h.generation = (SELECT generation FROM live) AND h.seq <= s.settled_seq
GROUP BY h.cluster, h.pool, h.account, h.hour;
