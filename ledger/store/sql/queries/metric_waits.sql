-- How long runs had waited when they started, by the bucket they started in.
-- Parameters: metric_closed_hours.sql, and `user`, `kind`.
--
-- The wait of a job with one attempt is the job's own: in the queue, not held, eligible. A further attempt waits from
-- the end of the one before, or from its own submission where that is later; a first one of several from its
-- submission. Without a submission the wait is not known, and the run only counts as one.
-- Ranks are nearest ranks: the least wait that is not exceeded by half (nine tenths) of those known.
WITH
    every AS
    (
        SELECT
            r.*,
            toInt64(toUnixTimestamp(r.started_at)) AS started_s,
            lagInFrame(r.ended_at) OVER (PARTITION BY r.cluster, r.job ORDER BY r.ordinal) AS previous_ended_at
        FROM report_runs AS r
        WHERE {cluster:String} = '' OR r.cluster = {cluster:String}
    ),
    started AS
    (
        SELECT
            e.cluster AS cluster,
            e.pool AS pool,
            e.user AS user,
            e.kind AS kind,
            if(e.funded, e.ledger_account, e.account) AS account,
            if(e.funded, 'funded', 'unfunded') AS funding,
            if({hourly:Bool}, intDiv(e.started_s, 3600) * 3600, roundDown(e.started_s, {edges:Array(Int64)}))
                AS bucket_s,
            multiIf(
                e.gpus_milli < 1000, ['under 1'],
                e.gpus_milli < 2000, ['1'],
                e.gpus_milli < 8000, ['2-7'],
                e.gpus_milli < 16000, ['8-15'],
                e.gpus_milli < 64000, ['16-63'],
                e.gpus_milli < 128000, ['64+'],
                ['64+', '128+']
            ) AS sizes,
            toInt64(multiIf(
                isNull(e.waiting_from), NULL,
                j.attempts = 1, j.waited_s,
                greatest(0, e.started_s - toInt64(toUnixTimestamp(
                    greatest(e.waiting_from, ifNull(e.previous_ended_at, e.waiting_from))
                )))
            )) AS wait_s
        FROM every AS e
        LEFT JOIN report_jobs AS j ON j.cluster = e.cluster AND j.job = e.job
        WHERE e.started_s >= {from_s:Int64}
            AND e.started_s < {until_s:Int64}
            AND ({pool:String} = '' OR e.pool = {pool:String})
            AND ({user:String} = '' OR e.user = {user:String})
            AND ({kind:String} = '' OR e.kind = {kind:String})
    )
SELECT
    s.bucket_s AS bucket_s,
    if({by_cluster:Bool}, s.cluster, '') AS cluster,
    if({by_pool:Bool}, s.pool, '') AS pool,
    arrayJoin(if(
        {by_account:Bool},
        arrayFilter(
            path -> ({depth:UInt8} = 0 OR length(splitByChar('/', path)) = {depth:UInt8})
                AND ({account:String} = '' OR path = {account:String}
                    OR startsWith(path, concat({account:String}, '/'))),
            arrayMap(
                depth -> arrayStringConcat(arraySlice(splitByChar('/', s.account), 1, depth), '/'),
                arrayEnumerate(splitByChar('/', s.account))
            )
        ),
        ['']
    )) AS account,
    if({by_user:Bool}, s.user, '') AS user,
    if({by_kind:Bool}, s.kind, '') AS kind,
    if({by_funding:Bool}, s.funding, '') AS funding,
    arrayJoin(if({by_size:Bool}, s.sizes, [''])) AS size,
    toInt64(count()) AS runs,
    toInt64(count(s.wait_s)) AS known_runs,
    toInt64(known_runs > 0) AS known,
    arraySort(groupArray(s.wait_s)) AS waits,
    waits[intDiv(known_runs + 1, 2)] AS wait_median_s,
    waits[intDiv(9 * known_runs + 9, 10)] AS wait_p90_s
FROM started AS s
WHERE ({account:String} = '' OR s.account = {account:String} OR startsWith(s.account, concat({account:String}, '/')))
GROUP BY bucket_s, cluster, pool, account, user, kind, funding, size
ORDER BY cluster, pool, account, user, kind, funding, size, bucket_s
