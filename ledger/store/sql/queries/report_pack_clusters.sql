-- How far the log of each cluster is taken into the book. FINAL is needless for maxima, and facts are not read.
SELECT
    cluster,
    toInt64(toUnixTimestamp(max(recorded_at))) AS recorded_s,
    toInt64(toUnixTimestamp(max(ticked_at))) AS ticked_s
FROM partition_checkpoints
WHERE generation = (SELECT generation FROM live) AND cluster != ''
GROUP BY cluster
ORDER BY cluster
