-- By cluster: the hour up to which hours are closed, and the last tick, as of the last checkpoint.
SELECT
    cluster,
    toInt64(toUnixTimestamp(max(c.closed_until))) AS closed_until_s,
    toInt64(toUnixTimestamp(max(c.ticked_at))) AS ticked_s
FROM partition_checkpoints AS c FINAL
WHERE c.generation = (SELECT generation FROM live) AND cluster != ''
GROUP BY cluster
ORDER BY cluster
