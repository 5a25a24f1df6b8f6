-- Leaf accounts' hours up to the last tick: closed ones without waiting for the checkpoint, then the open ones.
-- An open row below the greatest seq of its cluster is of an earlier tick, and one of an hour since closed is stale.

CREATE OR REPLACE VIEW report_live_account_hours AS
SELECT
    cluster,
    pool,
    account,
    hour,
    until,
    provisional,
    claim_gpu_ms,
    grant_gpu_ms,
    charged_gpu_ms,
    refunded_gpu_ms,
    demand_gpu_ms,
    owed_gpu_ms,
    commitment_gpu_ms,
    unfunded_gpu_ms,
    charged_gpu_ms - refunded_gpu_ms AS delivered_gpu_ms,
    least(delivered_gpu_ms, owed_gpu_ms) AS met_gpu_ms,
    seq,
    recorded_at
FROM
(
    SELECT
        h.cluster AS cluster,
        h.pool AS pool,
        h.account AS account,
        h.hour AS hour,
        h.hour + INTERVAL 1 HOUR AS until,
        false AS provisional,
        argMax(h.claim_gpu_ms, h.seq) AS claim_gpu_ms,
        argMax(h.grant_gpu_ms, h.seq) AS grant_gpu_ms,
        argMax(h.charged_gpu_ms, h.seq) AS charged_gpu_ms,
        argMax(h.refunded_gpu_ms, h.seq) AS refunded_gpu_ms,
        argMax(h.demand_gpu_ms, h.seq) AS demand_gpu_ms,
        argMax(h.owed_gpu_ms, h.seq) AS owed_gpu_ms,
        argMax(h.commitment_gpu_ms, h.seq) AS commitment_gpu_ms,
        argMax(h.unfunded_gpu_ms, h.seq) AS unfunded_gpu_ms,
        max(h.seq) AS seq,
        max(h.recorded_at) AS recorded_at
    FROM account_hours AS h FINAL
    WHERE h.generation = (SELECT generation FROM live)
    GROUP BY h.cluster, h.pool, h.account, h.hour
    UNION ALL
    SELECT
        o.cluster AS cluster,
        o.pool AS pool,
        o.account AS account,
        o.hour AS hour,
        o.until AS until,
        true AS provisional,
        o.claim_gpu_ms AS claim_gpu_ms,
        o.grant_gpu_ms AS grant_gpu_ms,
        o.charged_gpu_ms AS charged_gpu_ms,
        o.refunded_gpu_ms AS refunded_gpu_ms,
        o.demand_gpu_ms AS demand_gpu_ms,
        o.owed_gpu_ms AS owed_gpu_ms,
        o.commitment_gpu_ms AS commitment_gpu_ms,
        o.unfunded_gpu_ms AS unfunded_gpu_ms,
        o.seq AS seq,
        o.recorded_at AS recorded_at
    FROM open_hours AS o FINAL
    INNER JOIN
    (
        SELECT cluster, max(seq) AS seq
        FROM open_hours FINAL
        WHERE generation = (SELECT generation FROM live)
        GROUP BY cluster
    ) AS tick ON tick.cluster = o.cluster AND tick.seq = o.seq
    LEFT JOIN
    (
        SELECT cluster, max(hour) AS hour
        FROM cluster_hours FINAL
        WHERE generation = (SELECT generation FROM live)
        GROUP BY cluster
    ) AS closed ON closed.cluster = o.cluster
    WHERE o.generation = (SELECT generation FROM live) AND o.hour > closed.hour
);
