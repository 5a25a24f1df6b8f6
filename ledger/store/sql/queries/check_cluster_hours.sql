-- Cluster hours, in their latest version, that are not the sum of the node hours.
WITH summed AS
(
    SELECT
        cluster, pool, hour, sum(capacity_gpu_ms) AS capacity, sum(overbooked_gpu_ms) AS overbooked,
        sum(unfunded_gpu_ms) AS unfunded, sum(protected_gpu_ms) AS protected,
        sum(interruptible_gpu_ms) AS interruptible, sum(suspended_gpu_ms) AS suspended, sum(idle_gpu_ms) AS idle,
        sum(unavailable_planned_gpu_ms) AS planned, sum(unavailable_unplanned_gpu_ms) AS unplanned
    FROM node_hours FINAL
    WHERE generation = {generation:String}
    GROUP BY cluster, pool, hour
),
kept AS
(
    SELECT
        cluster, pool, hour, argMax(capacity_gpu_ms, seq) AS capacity, argMax(overbooked_gpu_ms, seq) AS overbooked,
        argMax(unfunded_gpu_ms, seq) AS unfunded, argMax(protected_gpu_ms, seq) AS protected,
        argMax(interruptible_gpu_ms, seq) AS interruptible, argMax(suspended_gpu_ms, seq) AS suspended,
        argMax(idle_gpu_ms, seq) AS idle, argMax(unavailable_planned_gpu_ms, seq) AS planned,
        argMax(unavailable_unplanned_gpu_ms, seq) AS unplanned
    FROM cluster_hours FINAL
    WHERE generation = {generation:String}
    GROUP BY cluster, pool, hour
)
SELECT cluster, pool, hour, any(side) AS only_in
FROM
(
    SELECT 'node_hours' AS side, * FROM summed
    UNION ALL
    SELECT 'cluster_hours' AS side, * FROM kept
)
GROUP BY
    cluster, pool, hour, capacity, overbooked, unfunded, protected, interruptible, suspended, idle, planned, unplanned
HAVING count() != 2 AND (capacity, overbooked, idle, planned, unplanned) != (0, 0, 0, 0, 0)
ORDER BY cluster, pool, hour
