-- Runs that got back more than they were charged, in an hour.
SELECT
    cluster, pool, hour, run,
    sumIf(amount_gpu_ms, kind = 'charge' AND class = 'spent') AS charged_gpu_ms,
    sumIf(amount_gpu_ms, kind = 'refund' AND class = 'budget') AS refunded_gpu_ms
FROM postings FINAL
WHERE generation = {generation:String} AND book = 'budget' AND run != '' AND kind IN ('charge', 'refund')
GROUP BY cluster, pool, hour, run
HAVING refunded_gpu_ms > charged_gpu_ms
ORDER BY cluster, pool, hour, run
