-- The first hour of each cluster's samples.
SELECT cluster, toInt64(toUnixTimestamp(toStartOfHour(min(at)))) AS since_s
FROM gpu_samples
GROUP BY cluster
ORDER BY cluster
