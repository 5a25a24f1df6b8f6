-- Nodes on which more was occupied than there was, as was known at known_at_s.
SELECT
    pool,
    node,
    count() AS hours,
    sum(over_gpu_ms) AS overbooked_gpu_ms,
    min(hour_s) AS first_s,
    max(hour_s) AS last_s
FROM
(
    SELECT
        p.pool AS pool,
        p.node AS node,
        toInt64(toUnixTimestamp(p.hour)) AS hour_s,
        -sum(p.amount_gpu_ms) AS over_gpu_ms
    FROM postings AS p FINAL
    INNER JOIN settled AS s ON s.cluster = p.cluster
    WHERE p.generation = (SELECT generation FROM live)
        AND p.seq <= s.settled_seq
        AND p.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
        AND p.cluster = {cluster:String}
        AND ({pool:String} = '' OR p.pool = {pool:String})
        AND p.hour >= toDateTime({from_s:Int64}, 'UTC')
        AND p.hour < toDateTime({until_s:Int64}, 'UTC')
        AND p.book = 'capacity'
        AND p.kind = 'overbooked'
    GROUP BY p.pool, p.node, p.hour
    HAVING over_gpu_ms != 0
)
GROUP BY pool, node
ORDER BY overbooked_gpu_ms DESC, pool, node
