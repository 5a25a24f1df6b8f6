-- From capacity to use, per pool over [from_s, until_s).
SELECT
    c.pool AS pool,
    sum(c.capacity_gpu_ms) AS capacity_gpu_ms,
    sum(c.available_gpu_ms) AS available_gpu_ms,
    sum(c.occupied_gpu_ms) AS occupied_gpu_ms,
    sum(c.protected_gpu_ms + c.interruptible_gpu_ms) AS funded_gpu_ms,
    any(s.utilized_gpu_ms) AS utilized_gpu_ms,
    any(s.sampled_gpu_ms) AS sampled_gpu_ms,
    sum(c.overbooked_gpu_ms) AS overbooked_gpu_ms
FROM report_cluster_hours AS c
LEFT JOIN
(
    SELECT
        r.pool AS pool,
        toInt64(sum(g.utilized_gpu_ms)) AS utilized_gpu_ms,
        toInt64(sum(g.sampled_gpu_ms)) AS sampled_gpu_ms
    FROM report_run_gpu_hours AS g
    INNER JOIN report_runs AS r ON r.cluster = g.cluster AND r.job = g.job AND r.attempt = g.attempt
    WHERE g.cluster = {cluster:String}
        AND g.hour >= toDateTime({from_s:Int64}, 'UTC') AND g.hour < toDateTime({until_s:Int64}, 'UTC')
    GROUP BY pool
) AS s ON s.pool = c.pool
WHERE c.cluster = {cluster:String}
    AND c.hour >= toDateTime({from_s:Int64}, 'UTC') AND c.hour < toDateTime({until_s:Int64}, 'UTC')
GROUP BY pool
ORDER BY pool
