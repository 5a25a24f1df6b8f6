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
-- Samples are many and runs are few, so samples are summed before they meet runs: by GPU and stretch, which is time of
-- one node and hour in which no run of its starts or ends. A sample that crosses the end of a stretch stays by itself.
-- Parts are added as whole millionths, so that the same sum made again is the same to the last bit, whatever the order.
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
            sum(placed_milli) AS milli,
            arrayDistinct(arrayFlatten(groupArray(placed_indices))) AS indices,
            greatest(any(toInt64(toUnixTimestamp(r.started_at))), {from_s:Int64}) AS started_s,
            least(any(ifNull(toInt64(toUnixTimestamp(r.ended_at)), {until_s:Int64})), {until_s:Int64}) AS ended_s
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
        HAVING started_s < ended_s
    ),
    placed_hours AS
    (
        SELECT
            node,
            arrayJoin(range(intDiv(started_s, 3600) * 3600, ended_s, 3600)) AS hour_s,
            groupArray((job, attempt, milli, indices, started_s, ended_s)
                ::Tuple(job String, attempt String, milli Int64, indices Array(UInt16), started_s Int64, ended_s Int64)
            ) AS runs
        FROM placed
        GROUP BY node, hour_s
    ),
    stretches AS
    (
        SELECT
            node,
            arraySort(arrayDistinct(arrayConcat(
                groupArray(started_s), groupArray(ended_s), range({from_s:Int64}, {until_s:Int64} + 1, 3600)
            ))) AS edges,
            arrayJoin(arrayZip(arrayPopBack(edges), arrayPopFront(edges))) AS stretch,
            stretch.1 AS begins_s,
            stretch.2 AS ends_s
        FROM placed
        GROUP BY node
    ),
    sampled_together AS
    (
        SELECT node, at, arraySort(groupUniqArray(gpu)) AS gpus
        FROM gpu_samples
        WHERE cluster = {cluster:String}
            AND at >= toDateTime(greatest(0, {from_s:Int64} - 86400), 'UTC')
            AND at < toDateTime({until_s:Int64}, 'UTC')
            AND node IN (SELECT node FROM placed WHERE empty(indices))
        GROUP BY node, at
    ),
    pieces AS
    (
        SELECT
            node,
            gpu,
            gpus,
            utilization_pct,
            sm_active_pct,
            memory_used_mib,
            power_w,
            xid,
            toInt64(toUnixTimestamp(at)) AS at_s,
            arrayJoin(range(
                intDiv(greatest(at_s, {from_s:Int64}), 3600) * 3600, least(at_s + interval_s, {until_s:Int64}), 3600
            )) AS hour_s,
            greatest(at_s, hour_s) AS begins_s,
            least(at_s + interval_s, hour_s + 3600) AS ends_s
        FROM
        (
            SELECT *
            FROM gpu_samples FINAL
            WHERE cluster = {cluster:String}
                AND at >= toDateTime(greatest(0, {from_s:Int64} - 86400), 'UTC')
                AND at < toDateTime({until_s:Int64}, 'UTC')
                AND toUnixTimestamp(at) + interval_s > {from_s:Int64}
        ) AS s
        LEFT JOIN sampled_together USING (node, at)
    ),
    sampled AS
    (
        SELECT
            pieces.node AS node,
            gpu,
            gpus,
            if(pieces.ends_s <= stretches.ends_s, stretches.begins_s, pieces.begins_s) AS since_s,
            if(pieces.ends_s <= stretches.ends_s, stretches.ends_s, pieces.ends_s) AS till_s,
            intDiv(since_s, 3600) * 3600 AS hour_s,
            sum(pieces.ends_s - pieces.begins_s AS piece_s) AS sampled_s,
            sum(piece_s * utilization_pct) AS utilized_pct_s,
            sumIf(piece_s, utilization_pct = 0 AND ifNull(sm_active_pct, 0) = 0) AS idle_s,
            sumIf(piece_s, isNotNull(sm_active_pct)) AS sm_sampled_s,
            sum(piece_s * ifNull(sm_active_pct, 0)) AS sm_active_pct_s,
            max(memory_used_mib) AS memory_used_mib,
            sum(piece_s * power_w) AS energy_j,
            groupUniqArray(xid) AS xids
        FROM pieces
        ASOF INNER JOIN stretches ON pieces.node = stretches.node AND pieces.begins_s >= stretches.begins_s
        GROUP BY node, gpu, gpus, since_s, till_s
    ),
    held AS
    (
        SELECT
            sampled.*,
            arrayFilter(r -> r.started_s < till_s AND r.ended_s > since_s, runs) AS present,
            arrayFlatten(arrayMap(r -> r.indices, present)) AS named,
            has(named, gpu) AS exact,
            arrayFilter(r -> if(exact, has(r.indices, gpu), empty(r.indices)), present) AS holders,
            if(exact, 0, arrayCount(g -> NOT has(named, g), gpus)) AS unnamed,
            arrayMap(r -> r.milli / if(exact, length(r.indices), unnamed), holders) AS wanted_milli,
            arrayMap(
                r -> (least(till_s, r.ended_s) - greatest(since_s, r.started_s)) / (till_s - since_s), holders
            ) AS held_part,
            arraySum(arrayMap((milli, part) -> milli * part, wanted_milli, held_part)) AS all_milli
        FROM sampled
        INNER JOIN placed_hours USING (node, hour_s)
    ),
    counted AS
    (
        SELECT
            held.*,
            holder.job AS job,
            holder.attempt AS attempt,
            part * least(wanted, 1000, 1000 * wanted / all_milli) AS held_milli
        FROM held
        ARRAY JOIN holders AS holder, wanted_milli AS wanted, held_part AS part
    )
SELECT
    {generation:String},
    {cluster:String},
    toDateTime(hour_s, 'UTC') AS hour,
    job,
    attempt,
    node,
    gpu,
    max(exact),
    sum(toInt64(round(held_milli * sampled_s * 1e6))) / 1e6,
    sum(toInt64(round(held_milli * utilized_pct_s * 1e4))) / 1e6,
    sum(toInt64(round(held_milli * idle_s * 1e6))) / 1e6,
    sum(toInt64(round(held_milli * sm_sampled_s * 1e6))) / 1e6,
    sum(toInt64(round(held_milli * sm_active_pct_s * 1e4))) / 1e6,
    max(memory_used_mib),
    sum(toInt64(round(held_milli * energy_j * 1e3))) / 1e6,
    arraySort(groupUniqArrayArray(xids)),
    toDateTime({rolled_s:Int64}, 'UTC'),
    min(was)
FROM
(
    SELECT
        hour_s, job, attempt, node, gpu, exact, held_milli, sampled_s, utilized_pct_s, idle_s, sm_sampled_s,
        sm_active_pct_s, memory_used_mib, energy_j, xids, 0 AS was
    FROM counted
    UNION ALL
    SELECT
        toInt64(toUnixTimestamp(hour)), job, attempt, node, gpu, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, [], 1
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
