-- Occupied GPU time run by run, and what samples say of it: by account (every level of the tree), user, kind, job.
-- Parameters: metric_closed_hours.sql, and `user`, `kind`, `job`.
--
-- Occupied time is the book's, so it is there with or without samples. A run's samples in an hour on a node go with
-- what it occupied there; should that be booked in two parts, with the greater. Sums of samples are rounded to whole
-- GPU-milliseconds per run, node and hour, so that they add up the same however they are grouped. `covered` time is
-- sampled time up to what is occupied: a released pause has samples that are nobody's.
WITH
    occupied AS
    (
        SELECT
            p.cluster AS cluster,
            p.pool AS pool,
            p.hour AS hour,
            p.account AS account,
            p.node AS node,
            p.run AS run,
            sum(p.amount_gpu_ms) AS occupied_gpu_ms,
            sumIf(p.amount_gpu_ms, p.class IN ('protected', 'interruptible')) AS funded_gpu_ms,
            sumIf(p.amount_gpu_ms, p.class = 'unfunded') AS unfunded_gpu_ms,
            sumIf(p.amount_gpu_ms, p.class = 'suspended') AS suspended_gpu_ms
        FROM report_postings AS p
        WHERE p.book = 'capacity'
            AND p.kind = 'occupied'
            AND p.hour >= toDateTime({from_s:Int64}, 'UTC')
            AND p.hour < toDateTime({until_s:Int64}, 'UTC')
            AND ({cluster:String} = '' OR p.cluster = {cluster:String})
            AND ({pool:String} = '' OR p.pool = {pool:String})
            AND ({node:String} = '' OR p.node = {node:String})
            AND ({job:String} = '' OR startsWith(p.run, concat({job:String}, '/')))
        GROUP BY p.cluster, p.pool, p.hour, p.account, p.node, p.run
        HAVING occupied_gpu_ms != 0
    ),
    sampled AS
    (
        SELECT
            g.cluster AS cluster,
            g.hour AS hour,
            g.node AS node,
            g.run AS run,
            toInt64(round(sum(g.sampled_gpu_ms))) AS sampled_gpu_ms,
            toInt64(round(sum(g.utilized_gpu_ms))) AS utilized_gpu_ms,
            toInt64(round(sum(g.idle_gpu_ms))) AS idle_gpu_ms,
            toInt64(round(sum(g.sm_sampled_gpu_ms))) AS sm_sampled_gpu_ms,
            toInt64(round(sum(g.sm_active_gpu_ms))) AS sm_active_gpu_ms
        FROM report_run_gpu_hours AS g
        WHERE g.hour >= toDateTime({from_s:Int64}, 'UTC')
            AND g.hour < toDateTime({until_s:Int64}, 'UTC')
            AND ({cluster:String} = '' OR g.cluster = {cluster:String})
        GROUP BY g.cluster, g.hour, g.node, g.run
    ),
    joined AS
    (
        SELECT
            o.*,
            row_number() OVER (
                PARTITION BY o.cluster, o.hour, o.node, o.run ORDER BY o.occupied_gpu_ms DESC, o.pool, o.account
            ) = 1 AS chief,
            if(chief, s.sampled_gpu_ms, 0) AS sampled_gpu_ms,
            if(chief, s.utilized_gpu_ms, 0) AS utilized_gpu_ms,
            if(chief, s.idle_gpu_ms, 0) AS idle_gpu_ms,
            if(chief, s.sm_sampled_gpu_ms, 0) AS sm_sampled_gpu_ms,
            if(chief, s.sm_active_gpu_ms, 0) AS sm_active_gpu_ms
        FROM occupied AS o
        LEFT JOIN sampled AS s ON s.cluster = o.cluster AND s.hour = o.hour AND s.node = o.node AND s.run = o.run
    ),
    named AS
    (
        SELECT
            j.*,
            toInt64(toUnixTimestamp(j.hour)) AS hour_s,
            r.user AS user,
            r.kind AS kind,
            r.job AS job,
            arrayFilter(
                path -> ({depth:UInt8} = 0 OR length(splitByChar('/', path)) = {depth:UInt8})
                    AND ({account:String} = '' OR path = {account:String}
                        OR startsWith(path, concat({account:String}, '/'))),
                arrayMap(
                    depth -> arrayStringConcat(arraySlice(splitByChar('/', j.account), 1, depth), '/'),
                    arrayEnumerate(splitByChar('/', j.account))
                )
            ) AS accounts
        FROM joined AS j
        LEFT JOIN report_runs AS r ON r.cluster = j.cluster AND r.run = j.run
    )
SELECT
    if({hourly:Bool}, n.hour_s, roundDown(n.hour_s, {edges:Array(Int64)})) AS bucket_s,
    if({by_cluster:Bool}, n.cluster, '') AS cluster,
    if({by_pool:Bool}, n.pool, '') AS pool,
    arrayJoin(if({by_account:Bool}, n.accounts, [''])) AS account,
    if({by_user:Bool}, n.user, '') AS user,
    if({by_node:Bool}, n.node, '') AS node,
    if({by_kind:Bool}, n.kind, '') AS kind,
    if({by_job:Bool}, n.job, '') AS job,
    sum(n.occupied_gpu_ms) AS occupied_gpu_ms,
    sum(n.funded_gpu_ms) AS funded_gpu_ms,
    sum(n.unfunded_gpu_ms) AS unfunded_gpu_ms,
    sum(n.suspended_gpu_ms) AS suspended_gpu_ms,
    sum(n.sampled_gpu_ms) AS sampled_gpu_ms,
    sum(n.utilized_gpu_ms) AS utilized_gpu_ms,
    sum(n.idle_gpu_ms) AS idle_gpu_ms,
    sum(n.sm_sampled_gpu_ms) AS sm_sampled_gpu_ms,
    sum(n.sm_active_gpu_ms) AS sm_active_gpu_ms,
    sum(least(n.sampled_gpu_ms, n.occupied_gpu_ms)) AS covered_gpu_ms,
    sum(least(n.sm_sampled_gpu_ms, n.occupied_gpu_ms)) AS sm_covered_gpu_ms,
    sumIf(n.utilized_gpu_ms, n.funded_gpu_ms > 0) AS funded_utilized_gpu_ms,
    sum(least(n.sampled_gpu_ms, n.funded_gpu_ms)) AS funded_covered_gpu_ms
FROM named AS n
WHERE ({account:String} = '' OR n.account = {account:String} OR startsWith(n.account, concat({account:String}, '/')))
    AND ({user:String} = '' OR n.user = {user:String})
    AND ({kind:String} = '' OR n.kind = {kind:String})
    AND ({job:String} = '' OR n.job = {job:String})
GROUP BY bucket_s, cluster, pool, account, user, node, kind, job
ORDER BY cluster, pool, account, user, node, kind, job, bucket_s
