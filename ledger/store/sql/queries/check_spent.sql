-- Runs and hours in which what was charged is not the funded time the run occupied.
SELECT
    cluster, pool, hour, run,
    sumIf(amount_gpu_ms, book = 'capacity' AND class IN ('protected', 'interruptible')) AS occupied_gpu_ms,
    sumIf(amount_gpu_ms, book = 'budget' AND kind = 'charge' AND class = 'spent') AS charged_gpu_ms
FROM postings FINAL
WHERE generation = {generation:String} AND run != '' AND kind IN ('occupied', 'charge')
GROUP BY cluster, pool, hour, run
HAVING occupied_gpu_ms != charged_gpu_ms
ORDER BY cluster, pool, hour, run
