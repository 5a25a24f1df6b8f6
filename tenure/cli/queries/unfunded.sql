-- Unfunded runs by reason, with the GPU time they held.
SELECT x.cluster AS cluster, x.funding_reason AS reason, count() AS runs, sum(x.held_gpu_ms) AS held_gpu_ms
FROM report_runs AS x
WHERE NOT x.funded
GROUP BY cluster, reason
ORDER BY cluster, held_gpu_ms DESC
