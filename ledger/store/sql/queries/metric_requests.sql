-- Jobs by the bucket they were submitted in, and how many asked for a high priority, as their terms last were.
-- Parameters: metric_closed_hours.sql, and `user`, `kind`, `high_priority`, from which on a priority is high.
SELECT
    if({hourly:Bool}, intDiv(j.submitted_s, 3600) * 3600, roundDown(j.submitted_s, {edges:Array(Int64)})) AS bucket_s,
    if({by_cluster:Bool}, j.cluster, '') AS cluster,
    if({by_pool:Bool}, j.gpu_type, '') AS pool,
    arrayJoin(if(
        {by_account:Bool},
        arrayFilter(
            path -> ({depth:UInt8} = 0 OR length(splitByChar('/', path)) = {depth:UInt8})
                AND ({account:String} = '' OR path = {account:String}
                    OR startsWith(path, concat({account:String}, '/'))),
            arrayMap(
                depth -> arrayStringConcat(arraySlice(splitByChar('/', j.account), 1, depth), '/'),
                arrayEnumerate(splitByChar('/', j.account))
            )
        ),
        ['']
    )) AS account,
    if({by_user:Bool}, j.user, '') AS user,
    if({by_kind:Bool}, j.kind, '') AS kind,
    toInt64(count()) AS requests,
    toInt64(countIf(j.priority >= {high_priority:Int64})) AS high_requests,
    sum(j.gpus_milli) AS requested_milli,
    sumIf(j.gpus_milli, j.priority >= {high_priority:Int64}) AS high_requested_milli
FROM
(
    SELECT *, toInt64(toUnixTimestamp(assumeNotNull(submitted_at))) AS submitted_s
    FROM report_jobs
    WHERE submitted_at >= toDateTime({from_s:Int64}, 'UTC')
        AND submitted_at < toDateTime({until_s:Int64}, 'UTC')
        AND ({cluster:String} = '' OR cluster = {cluster:String})
        AND ({pool:String} = '' OR gpu_type = {pool:String})
        AND ({user:String} = '' OR user = {user:String})
        AND ({kind:String} = '' OR kind = {kind:String})
        AND ({account:String} = '' OR account = {account:String}
            OR startsWith(account, concat({account:String}, '/')))
) AS j
GROUP BY bucket_s, cluster, pool, account, user, kind
ORDER BY cluster, pool, account, user, kind, bucket_s
