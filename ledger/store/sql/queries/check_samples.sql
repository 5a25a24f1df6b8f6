-- Sums of samples that two generations do not share, of hours whose samples are still there: from the first whole hour
-- of a node's samples on, since one that has expired may have reached into the hour before.
WITH
    since AS
    (
        SELECT cluster, node, toStartOfHour(min(at) + INTERVAL 3599 SECOND) AS first_hour
        FROM gpu_samples
        GROUP BY cluster, node
    ),
    sampled AS
    (
        SELECT DISTINCT cluster, node, toStartOfHour(at) AS hour
        FROM gpu_samples
    )
SELECT cluster, toString(hour) AS hour_utc, job, attempt, node, gpu
FROM run_gpu_hours AS s FINAL
INNER JOIN since USING (cluster, node)
WHERE generation IN ({a:String}, {b:String})
    AND hour >= first_hour
    AND (cluster, node, hour) IN (SELECT cluster, node, hour FROM sampled)
GROUP BY cluster, hour, job, attempt, node, gpu
HAVING count() != 2
    OR uniqExact(sipHash128(tuple(
        exact, sampled_gpu_ms, utilized_gpu_ms, idle_gpu_ms, sm_sampled_gpu_ms, sm_active_gpu_ms, max_memory_used_mib,
        energy_j, xids
    ))) != 1
ORDER BY ALL
