-- The capacity book hour by hour over [from_s, until_s), as was known at known_at_s. `pool` '' is every pool.
SELECT
    h.pool AS pool,
    toInt64(toUnixTimestamp(h.hour)) AS hour_s,
    argMax(h.capacity_gpu_ms, h.seq) AS capacity_gpu_ms,
    argMax(h.unavailable_planned_gpu_ms, h.seq) AS planned_gpu_ms,
    argMax(h.unavailable_unplanned_gpu_ms, h.seq) AS unplanned_gpu_ms,
    argMax(h.idle_gpu_ms, h.seq) AS idle_gpu_ms,
    argMax(h.protected_gpu_ms, h.seq) AS protected_gpu_ms,
    argMax(h.interruptible_gpu_ms, h.seq) AS interruptible_gpu_ms,
    argMax(h.suspended_gpu_ms, h.seq) AS suspended_gpu_ms,
    argMax(h.unfunded_gpu_ms, h.seq) AS unfunded_gpu_ms,
    argMax(h.overbooked_gpu_ms, h.seq) AS overbooked_gpu_ms
FROM cluster_hours AS h FINAL
INNER JOIN settled AS s ON s.cluster = h.cluster
WHERE h.generation = (SELECT generation FROM live)
    AND h.seq <= s.settled_seq
    AND h.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND h.cluster = {cluster:String}
    AND ({pool:String} = '' OR h.pool = {pool:String})
    AND h.hour >= toDateTime({from_s:Int64}, 'UTC')
    AND h.hour < toDateTime({until_s:Int64}, 'UTC')
GROUP BY h.pool, h.hour
ORDER BY pool, hour_s
