-- From when until when each pool's hours are closed, as was known at known_at_s. `cluster` '' is every cluster.
SELECT
    h.cluster AS cluster,
    h.pool AS pool,
    toInt64(toUnixTimestamp(min(h.hour))) AS opens_s,
    toInt64(toUnixTimestamp(max(h.hour))) + 3600 AS closed_until_s
FROM cluster_hours AS h FINAL
INNER JOIN settled AS s ON s.cluster = h.cluster
WHERE h.generation = (SELECT generation FROM live)
    AND h.seq <= s.settled_seq
    AND h.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND ({cluster:String} = '' OR h.cluster = {cluster:String})
GROUP BY h.cluster, h.pool
ORDER BY cluster, pool
