-- Sum the samples of the hours [from_s, until_s) of one cluster by run, GPU and hour.
--
-- The rule. A sample speaks for its GPU from `at` for `interval_s`. The part of it inside an hour and inside a run on
-- its node is that run's, in GPU time:
--   * where the source named the run's GPUs, the sample must be of one of them, and counts for the run's milli-GPUs on
--     the node over the number of GPUs named (exact);
--   * where it did not, every GPU that was sampled for that interval and that no run named is as likely as another to
--     be the run's: the sample counts for the run's milli-GPUs on the node over the number of those GPUs (not exact).
-- Runs that share a GPU's sample never count for more than one GPU together; they then share it in proportion. What no
-- sample covers is not counted at all. Suspended runs hold their GPUs and so their samples.
--
-- Sums made before that are no more are written as gone, except where the samples themselves have expired.
INSERT INTO run_gpu_hours
WITH
    placed AS
    (
        SELECT
            r.job AS job,
            r.attempt AS attempt,
            placed_node AS node,
            sum(placed_milli) AS node_milli,
            arrayFlatten(groupArray(placed_indices)) AS indices,
            any(toInt64(toUnixTimestamp(r.started_at))) AS started_s,
            any(ifNull(toInt64(toUnixTimestamp(r.ended_at)), {until_s:Int64})) AS ended_s
        FROM runs AS r FINAL
        ARRAY JOIN
            r.placed_nodes AS placed_node,
            r.placed_gpus_milli AS placed_milli,
            r.placed_gpu_indices AS placed_indices
        WHERE r.generation = {generation:String}
            AND r.cluster = {cluster:String}
            AND r.started_at < toDateTime({until_s:Int64}, 'UTC')
            AND (r.ended_at IS NULL OR r.ended_at > toDateTime({from_s:Int64}, 'UTC'))
        GROUP BY r.job, r.attempt, placed_node
    ),
    placed_hours AS
    (
        SELECT
            placed.*,
            arrayJoin(range(
                intDiv(greatest(started_s, {from_s:Int64}), 3600) * 3600, least(ended_s, {until_s:Int64}), 3600
            )) AS hour_s
        FROM placed
    ),
    sampled_hours AS
    (
        SELECT
            node,
            gpu,
            utilization_pct,
            sm_active_pct,
            memory_used_mib,
            power_w,
            xid,
            toInt64(toUnixTimestamp(at)) AS at_s,
            arrayJoin(range(
                intDiv(greatest(at_s, {from_s:Int64}), 3600) * 3600, least(at_s + interval_s, {until_s:Int64}), 3600
            )) AS hour_s,
            greatest(at_s, hour_s) AS since_s,
            least(at_s + interval_s, hour_s + 3600) AS till_s
        FROM gpu_samples FINAL
        WHERE cluster = {cluster:String}
            AND at >= toDateTime(greatest(0, {from_s:Int64} - 86400), 'UTC')
            AND at < toDateTime({until_s:Int64}, 'UTC')
    ),
    held AS
    (
        SELECT
            *,
            has(indices, gpu) AS named,
            least(till_s, ended_s) - greatest(since_s, started_s) AS held_s,
            max(named) OVER (PARTITION BY node, hour_s, gpu, since_s) AS named_by_any
        FROM sampled_hours
        INNER JOIN placed_hours USING (node, hour_s)
        WHERE held_s > 0 AND (named OR empty(indices))
    ),
    wanted AS
    (
        SELECT
            *,
            node_milli / if(
                named,
                length(arrayDistinct(indices)),
                uniqExactIf(gpu, NOT named_by_any) OVER (PARTITION BY node, hour_s, since_s)
            ) AS wanted_milli
        FROM held
        WHERE named OR NOT named_by_any
    ),
    counted AS
    (
        SELECT
            *,
            sum(wanted_milli * held_s) OVER (PARTITION BY node, hour_s, gpu, since_s) / (till_s - since_s) AS all_milli,
            held_s * least(wanted_milli, 1000, 1000 * wanted_milli / all_milli) AS held_gpu_ms
        FROM wanted
    )
SELECT
    {generation:String},
    {cluster:String},
    toDateTime(hour_s, 'UTC') AS hour,
    job,
    attempt,
    node,
    gpu,
    max(named),
    sum(held_gpu_ms),
    sum(held_gpu_ms * utilization_pct / 100),
    sumIf(held_gpu_ms, utilization_pct = 0 AND ifNull(sm_active_pct, 0) = 0),
    sumIf(held_gpu_ms, isNotNull(sm_active_pct)),
    sum(held_gpu_ms * ifNull(sm_active_pct, 0) / 100),
    max(memory_used_mib),
    sum(held_gpu_ms * power_w / 1000),
    arraySort(groupUniqArray(xid)),
    toDateTime({rolled_s:Int64}, 'UTC'),
    min(was)
FROM
(
    SELECT
        hour_s, job, attempt, node, gpu, named, held_gpu_ms,
        utilization_pct, sm_active_pct, memory_used_mib, power_w, xid, 0 AS was
    FROM counted
    UNION ALL
    SELECT
        toInt64(toUnixTimestamp(hour)), job, attempt, node, gpu, 0, 0, 0, NULL, NULL, NULL, NULL, 1
    FROM run_gpu_hours FINAL
    WHERE generation = {generation:String}
        AND cluster = {cluster:String}
        AND hour >= toDateTime({from_s:Int64}, 'UTC')
        AND hour < toDateTime({until_s:Int64}, 'UTC')
        AND hour IN
        (
            SELECT toStartOfHour(at)
            FROM gpu_samples
            WHERE cluster = {cluster:String}
                AND at >= toDateTime({from_s:Int64}, 'UTC')
                AND at < toDateTime({until_s:Int64}, 'UTC')
        )
)
GROUP BY hour_s, job, attempt, node, gpu
