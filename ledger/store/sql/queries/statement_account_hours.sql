-- The statement of accounts over [from_s, until_s), as it was known at known_at_s: every account, ancestors too.
-- `cluster` '' is every cluster; `account` '' is every account, else that one and all below it.
-- Commitments are those at the end of the cluster's last hour in the period, whoever has a row in it.
WITH
    last AS
    (
        SELECT v.cluster AS cluster, max(v.hour) AS last_hour
        FROM
        (
            SELECT generation, cluster, hour, seq, recorded_at FROM account_hours
            UNION ALL
            SELECT generation, cluster, hour, seq, recorded_at FROM cluster_hours
        ) AS v
        INNER JOIN settled AS s ON s.cluster = v.cluster
        WHERE v.generation = (SELECT generation FROM live)
            AND v.seq <= s.settled_seq
            AND v.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
            AND v.hour >= toDateTime({from_s:Int64}, 'UTC')
            AND v.hour < toDateTime({until_s:Int64}, 'UTC')
            AND ({cluster:String} = '' OR v.cluster = {cluster:String})
        GROUP BY v.cluster
    )
SELECT
    cluster,
    pool,
    arrayJoin(arrayMap(
        depth -> arrayStringConcat(arraySlice(splitByChar('/', h.account), 1, depth), '/'),
        arrayEnumerate(splitByChar('/', h.account))
    )) AS account,
    sum(h.claim_gpu_ms) AS claim_gpu_ms,
    sum(h.grant_gpu_ms) AS grant_gpu_ms,
    sum(h.charged_gpu_ms) AS charged_gpu_ms,
    sum(h.refunded_gpu_ms) AS refunded_gpu_ms,
    sum(h.charged_gpu_ms - h.refunded_gpu_ms) AS delivered_gpu_ms,
    sum(h.demand_gpu_ms) AS demand_gpu_ms,
    sum(h.owed_gpu_ms) AS owed_gpu_ms,
    sum(least(h.charged_gpu_ms - h.refunded_gpu_ms, h.owed_gpu_ms)) AS met_gpu_ms,
    sumIf(h.commitment_gpu_ms, h.hour = last.last_hour) AS commitment_gpu_ms,
    sum(h.unfunded_gpu_ms) AS unfunded_gpu_ms,
    uniqExact(h.hour) AS hours,
    max(h.seq) AS seq,
    max(h.recorded_at) AS recorded_at
FROM
(
    SELECT
        v.cluster AS cluster,
        v.pool AS pool,
        v.account AS account,
        v.hour AS hour,
        argMax(v.claim_gpu_ms, v.seq) AS claim_gpu_ms,
        argMax(v.grant_gpu_ms, v.seq) AS grant_gpu_ms,
        argMax(v.charged_gpu_ms, v.seq) AS charged_gpu_ms,
        argMax(v.refunded_gpu_ms, v.seq) AS refunded_gpu_ms,
        argMax(v.demand_gpu_ms, v.seq) AS demand_gpu_ms,
        argMax(v.owed_gpu_ms, v.seq) AS owed_gpu_ms,
        argMax(v.commitment_gpu_ms, v.seq) AS commitment_gpu_ms,
        argMax(v.unfunded_gpu_ms, v.seq) AS unfunded_gpu_ms,
        max(v.seq) AS seq,
        max(v.recorded_at) AS recorded_at
    FROM account_hours AS v FINAL
    INNER JOIN settled AS s ON s.cluster = v.cluster
    WHERE v.generation = (SELECT generation FROM live)
        AND v.seq <= s.settled_seq
        AND v.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
        AND v.hour >= toDateTime({from_s:Int64}, 'UTC')
        AND v.hour < toDateTime({until_s:Int64}, 'UTC')
        AND ({cluster:String} = '' OR v.cluster = {cluster:String})
        AND ({account:String} = '' OR v.account = {account:String}
            OR startsWith(v.account, concat({account:String}, '/')))
    GROUP BY v.cluster, v.pool, v.account, v.hour
) AS h
INNER JOIN last USING (cluster)
GROUP BY cluster, pool, account
HAVING {account:String} = '' OR account = {account:String} OR startsWith(account, concat({account:String}, '/'))
ORDER BY cluster, pool, account
