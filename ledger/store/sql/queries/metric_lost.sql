-- What runs lost of their GPU time when they ended, by the bucket they ended in.
-- Parameters: metric_closed_hours.sql, and `user`, `kind`.
--
-- Lost is what ran since the last checkpoint if the run can be resumed, else since its start, where it ended by a
-- failure, a preemption or a requeue. How much of a pause lies after the last checkpoint is not stored: then the time
-- since the checkpoint counts whole, though never more than ran, and the run is not in `exact_gpu_ms`.
WITH
    ended AS
    (
        SELECT
            r.*,
            toInt64(toUnixTimestamp(assumeNotNull(r.ended_at))) AS ended_s,
            if(r.funded, r.ledger_account, r.account) AS booked_account,
            if(r.funded, 'funded', 'unfunded') AS funding,
            toInt64(ifNull(r.running_s, 0)) AS ran_s,
            r.resumable AND isNotNull(r.checkpointed_at) AND r.checkpointed_at > r.started_at AS banked,
            r.gpus_milli * ran_s AS ran_gpu_ms,
            r.gpus_milli
                * if(banked, least(ran_s, ended_s - toInt64(toUnixTimestamp(assumeNotNull(r.checkpointed_at)))), ran_s)
                AS unbanked_gpu_ms,
            NOT banked OR ifNull(r.suspended_s, 0) = 0 AS exact
        FROM report_runs AS r
        WHERE r.ended_at >= toDateTime({from_s:Int64}, 'UTC')
            AND r.ended_at < toDateTime({until_s:Int64}, 'UTC')
            AND ({cluster:String} = '' OR r.cluster = {cluster:String})
            AND ({pool:String} = '' OR r.pool = {pool:String})
            AND ({user:String} = '' OR r.user = {user:String})
            AND ({kind:String} = '' OR r.kind = {kind:String})
    )
SELECT
    if({hourly:Bool}, intDiv(e.ended_s, 3600) * 3600, roundDown(e.ended_s, {edges:Array(Int64)})) AS bucket_s,
    if({by_cluster:Bool}, e.cluster, '') AS cluster,
    if({by_pool:Bool}, e.pool, '') AS pool,
    arrayJoin(if(
        {by_account:Bool},
        arrayFilter(
            path -> ({depth:UInt8} = 0 OR length(splitByChar('/', path)) = {depth:UInt8})
                AND ({account:String} = '' OR path = {account:String}
                    OR startsWith(path, concat({account:String}, '/'))),
            arrayMap(
                depth -> arrayStringConcat(arraySlice(splitByChar('/', e.booked_account), 1, depth), '/'),
                arrayEnumerate(splitByChar('/', e.booked_account))
            )
        ),
        ['']
    )) AS account,
    if({by_user:Bool}, e.user, '') AS user,
    if({by_kind:Bool}, e.kind, '') AS kind,
    if({by_funding:Bool}, e.funding, '') AS funding,
    if({by_outcome:Bool}, e.outcome, '') AS outcome,
    toInt64(count()) AS runs,
    sum(e.ran_gpu_ms) AS ran_gpu_ms,
    sumIf(e.ran_gpu_ms, e.exact) AS exact_gpu_ms,
    sumIf(e.unbanked_gpu_ms, e.outcome IN ('node_failure', 'failed', 'out_of_memory')) AS lost_to_failures_gpu_ms,
    sumIf(e.unbanked_gpu_ms, e.outcome = 'preempted') AS lost_to_preemption_gpu_ms,
    sumIf(e.unbanked_gpu_ms, e.outcome = 'requeued') AS lost_to_restarts_gpu_ms,
    ran_gpu_ms - lost_to_failures_gpu_ms - lost_to_preemption_gpu_ms - lost_to_restarts_gpu_ms AS good_gpu_ms
FROM ended AS e
WHERE ({account:String} = '' OR e.booked_account = {account:String}
    OR startsWith(e.booked_account, concat({account:String}, '/')))
GROUP BY bucket_s, cluster, pool, account, user, kind, funding, outcome
ORDER BY cluster, pool, account, user, kind, funding, outcome, bucket_s
