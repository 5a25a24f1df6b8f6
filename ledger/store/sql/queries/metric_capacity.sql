-- The capacity book by cluster and pool: what there was, what of it was healthy, what was occupied and by whom.
-- Parameters: metric_closed_hours.sql.
SELECT
    if({hourly:Bool}, h.hour_s, roundDown(h.hour_s, {edges:Array(Int64)})) AS bucket_s,
    if({by_cluster:Bool}, h.cluster, '') AS cluster,
    if({by_pool:Bool}, h.pool, '') AS pool,
    sum(h.capacity_gpu_ms) AS capacity_gpu_ms,
    sum(h.unavailable_planned_gpu_ms) AS unavailable_planned_gpu_ms,
    sum(h.unavailable_unplanned_gpu_ms) AS unavailable_unplanned_gpu_ms,
    sum(h.available_gpu_ms) AS available_gpu_ms,
    sum(h.occupied_gpu_ms) AS occupied_gpu_ms,
    sum(h.protected_gpu_ms + h.interruptible_gpu_ms) AS funded_gpu_ms,
    sum(h.unfunded_gpu_ms) AS unfunded_gpu_ms,
    sum(h.suspended_gpu_ms) AS suspended_gpu_ms,
    sum(h.idle_gpu_ms) AS unoccupied_gpu_ms,
    sum(h.overbooked_gpu_ms) AS overbooked_gpu_ms
FROM
(
    SELECT *, toInt64(toUnixTimestamp(hour)) AS hour_s
    FROM report_cluster_hours
    WHERE hour >= toDateTime({from_s:Int64}, 'UTC')
        AND hour < toDateTime({until_s:Int64}, 'UTC')
        AND ({cluster:String} = '' OR cluster = {cluster:String})
        AND ({pool:String} = '' OR pool = {pool:String})
) AS h
GROUP BY bucket_s, cluster, pool
ORDER BY cluster, pool, bucket_s
