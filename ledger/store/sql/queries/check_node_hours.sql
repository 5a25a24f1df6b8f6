-- Node hours that are not the sum of the capacity book's postings.
WITH posted AS
(
    SELECT
        cluster, pool, node, hour,
        -sumIf(amount_gpu_ms, kind = 'capacity') AS capacity,
        -sumIf(amount_gpu_ms, kind = 'overbooked') AS overbooked,
        sumIf(amount_gpu_ms, kind = 'occupied') AS occupied,
        sumIf(amount_gpu_ms, kind = 'idle') AS idle,
        sumIf(amount_gpu_ms, kind = 'unavailable') AS unavailable
    FROM postings FINAL
    WHERE generation = {generation:String} AND book = 'capacity'
    GROUP BY cluster, pool, node, hour
),
kept AS
(
    SELECT
        cluster, pool, node, hour,
        capacity_gpu_ms AS capacity, overbooked_gpu_ms AS overbooked,
        unfunded_gpu_ms + protected_gpu_ms + interruptible_gpu_ms + suspended_gpu_ms AS occupied,
        idle_gpu_ms AS idle, unavailable_planned_gpu_ms + unavailable_unplanned_gpu_ms AS unavailable
    FROM node_hours FINAL
    WHERE generation = {generation:String}
)
SELECT cluster, pool, node, hour, any(side) AS only_in
FROM
(
    SELECT 'postings' AS side, * FROM posted
    UNION ALL
    SELECT 'node_hours' AS side, * FROM kept
)
GROUP BY cluster, pool, node, hour, capacity, overbooked, occupied, idle, unavailable
HAVING count() != 2 AND (capacity, overbooked, occupied, idle, unavailable) != (0, 0, 0, 0, 0)
ORDER BY cluster, pool, node, hour
