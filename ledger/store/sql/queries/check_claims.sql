-- Pools and hours whose leaves claim more by their shares than the capacity there was.
SELECT p.cluster AS cluster, p.pool AS pool, p.hour AS hour, p.claimed_gpu_ms, n.capacity_gpu_ms
FROM
(
    SELECT cluster, pool, hour, sum(amount_gpu_ms) AS claimed_gpu_ms
    FROM postings FINAL
    WHERE generation = {generation:String} AND book = 'budget' AND kind = 'claim' AND class = 'budget'
    GROUP BY cluster, pool, hour
) AS p
LEFT JOIN
(
    SELECT cluster, pool, hour, sum(capacity_gpu_ms) AS capacity_gpu_ms
    FROM node_hours FINAL
    WHERE generation = {generation:String}
    GROUP BY cluster, pool, hour
) AS n ON n.cluster = p.cluster AND n.pool = p.pool AND n.hour = p.hour
WHERE p.claimed_gpu_ms > n.capacity_gpu_ms
ORDER BY cluster, pool, hour
