-- What accounts held, asked, were owed and got: every account of the tree, ancestors as the sum of their leaves.
-- Parameters: metric_closed_hours.sql.
--
-- `met_gpu_ms` is min(delivered, owed) leaf by leaf and hour by hour, `period_met_gpu_ms` leaf by leaf over the whole
-- bucket: a leaf's burst makes up for its own quiet hours, never for another leaf.
SELECT
    h.bucket_s AS bucket_s,
    if({by_cluster:Bool}, h.cluster, '') AS cluster,
    if({by_pool:Bool}, h.pool, '') AS pool,
    arrayJoin(if({by_account:Bool}, h.accounts, [''])) AS account,
    sum(h.claim_gpu_ms) AS claim_gpu_ms,
    sum(h.demand_gpu_ms) AS demand_gpu_ms,
    sum(h.owed_gpu_ms) AS owed_gpu_ms,
    sum(h.charged_gpu_ms) AS charged_gpu_ms,
    sum(h.refunded_gpu_ms) AS refunded_gpu_ms,
    sum(h.delivered_gpu_ms) AS delivered_gpu_ms,
    sum(h.met_gpu_ms) AS met_gpu_ms,
    sum(h.owed_gpu_ms - h.met_gpu_ms) AS unmet_gpu_ms,
    sum(least(h.delivered_gpu_ms, h.owed_gpu_ms)) AS period_met_gpu_ms
FROM
(
    SELECT
        a.cluster AS cluster,
        a.pool AS pool,
        if({hourly:Bool}, a.hour_s, roundDown(a.hour_s, {edges:Array(Int64)})) AS bucket_s,
        arrayFilter(
            path -> ({depth:UInt8} = 0 OR length(splitByChar('/', path)) = {depth:UInt8})
                AND ({account:String} = '' OR path = {account:String}
                    OR startsWith(path, concat({account:String}, '/'))),
            arrayMap(
                depth -> arrayStringConcat(arraySlice(splitByChar('/', a.account), 1, depth), '/'),
                arrayEnumerate(splitByChar('/', a.account))
            )
        ) AS accounts,
        sum(a.claim_gpu_ms + a.grant_gpu_ms) AS claim_gpu_ms,
        sum(a.demand_gpu_ms) AS demand_gpu_ms,
        sum(a.owed_gpu_ms) AS owed_gpu_ms,
        sum(a.charged_gpu_ms) AS charged_gpu_ms,
        sum(a.refunded_gpu_ms) AS refunded_gpu_ms,
        sum(a.delivered_gpu_ms) AS delivered_gpu_ms,
        sum(a.met_gpu_ms) AS met_gpu_ms
    FROM
    (
        SELECT *, toInt64(toUnixTimestamp(hour)) AS hour_s
        FROM report_account_hours
        WHERE hour >= toDateTime({from_s:Int64}, 'UTC')
            AND hour < toDateTime({until_s:Int64}, 'UTC')
            AND ({cluster:String} = '' OR cluster = {cluster:String})
            AND ({pool:String} = '' OR pool = {pool:String})
            AND ({account:String} = '' OR account = {account:String}
                OR startsWith(account, concat({account:String}, '/')))
    ) AS a
    GROUP BY a.cluster, a.pool, a.account, bucket_s
) AS h
GROUP BY bucket_s, cluster, pool, account
ORDER BY cluster, pool, account, bucket_s
