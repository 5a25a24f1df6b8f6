-- Node hours in which capacity + overbooked differs from what it was used for.
SELECT
    cluster, pool, node, hour,
    capacity_gpu_ms + overbooked_gpu_ms AS given_gpu_ms,
    unfunded_gpu_ms + protected_gpu_ms + interruptible_gpu_ms + suspended_gpu_ms + idle_gpu_ms
        + unavailable_planned_gpu_ms + unavailable_unplanned_gpu_ms AS used_gpu_ms
FROM node_hours FINAL
WHERE generation = {generation:String} AND given_gpu_ms != used_gpu_ms
ORDER BY cluster, pool, node, hour
