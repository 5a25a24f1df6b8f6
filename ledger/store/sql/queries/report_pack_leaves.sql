-- What each leaf account was owed and got over [from_s, until_s), as was known at known_at_s, and beside it how the
-- same hours read when they were closed. `account` '' is every account, else that one and all below it.
SELECT
    pool,
    account,
    sum(h.claim_gpu_ms) AS claim_gpu_ms,
    sum(h.grant_gpu_ms) AS grant_gpu_ms,
    sum(h.charged_gpu_ms) AS charged_gpu_ms,
    sum(h.refunded_gpu_ms) AS refunded_gpu_ms,
    sum(h.demand_gpu_ms) AS demand_gpu_ms,
    sum(h.owed_gpu_ms) AS owed_gpu_ms,
    sum(least(h.charged_gpu_ms - h.refunded_gpu_ms, h.owed_gpu_ms)) AS met_gpu_ms,
    sum(h.unfunded_gpu_ms) AS unfunded_gpu_ms,
    sum(h.closed_claim_gpu_ms) AS closed_claim_gpu_ms,
    sum(h.closed_delivered_gpu_ms) AS closed_delivered_gpu_ms,
    sum(h.closed_owed_gpu_ms) AS closed_owed_gpu_ms,
    sum(h.closed_unfunded_gpu_ms) AS closed_unfunded_gpu_ms
FROM
(
    SELECT
        v.pool AS pool,
        v.account AS account,
        v.hour AS hour,
        argMax(v.claim_gpu_ms, v.seq) AS claim_gpu_ms,
        argMax(v.grant_gpu_ms, v.seq) AS grant_gpu_ms,
        argMax(v.charged_gpu_ms, v.seq) AS charged_gpu_ms,
        argMax(v.refunded_gpu_ms, v.seq) AS refunded_gpu_ms,
        argMax(v.demand_gpu_ms, v.seq) AS demand_gpu_ms,
        argMax(v.owed_gpu_ms, v.seq) AS owed_gpu_ms,
        argMax(v.unfunded_gpu_ms, v.seq) AS unfunded_gpu_ms,
        -- A version that was not written when the hour was closed corrects it, and an account that a correction brought
        -- into the hour had nothing before.
        closed.seq AS closed_seq,
        sumIf(v.claim_gpu_ms + v.grant_gpu_ms, v.seq = closed_seq) AS closed_claim_gpu_ms,
        sumIf(v.charged_gpu_ms - v.refunded_gpu_ms, v.seq = closed_seq) AS closed_delivered_gpu_ms,
        sumIf(v.owed_gpu_ms, v.seq = closed_seq) AS closed_owed_gpu_ms,
        sumIf(v.unfunded_gpu_ms, v.seq = closed_seq) AS closed_unfunded_gpu_ms
    FROM account_hours AS v FINAL
    INNER JOIN settled AS s ON s.cluster = v.cluster
    LEFT JOIN
    (
        SELECT cluster, hour, min(seq) AS seq
        FROM cluster_hours FINAL
        WHERE generation = (SELECT generation FROM live)
            AND cluster = {cluster:String}
            AND hour >= toDateTime({from_s:Int64}, 'UTC')
            AND hour < toDateTime({until_s:Int64}, 'UTC')
        GROUP BY cluster, hour
    ) AS closed ON closed.cluster = v.cluster AND closed.hour = v.hour
    WHERE v.generation = (SELECT generation FROM live)
        AND v.seq <= s.settled_seq
        AND v.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
        AND v.cluster = {cluster:String}
        AND ({pool:String} = '' OR v.pool = {pool:String})
        AND ({account:String} = '' OR v.account = {account:String}
            OR startsWith(v.account, concat({account:String}, '/')))
        AND v.hour >= toDateTime({from_s:Int64}, 'UTC')
        AND v.hour < toDateTime({until_s:Int64}, 'UTC')
    GROUP BY v.pool, v.account, v.hour, closed.seq
) AS h
GROUP BY pool, account
ORDER BY pool, account
