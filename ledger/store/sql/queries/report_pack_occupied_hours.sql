-- What an account and all below it occupied hour by hour, by class, as was known at known_at_s; from the capacity book.
SELECT
    p.pool AS pool,
    toInt64(toUnixTimestamp(p.hour)) AS hour_s,
    p.class AS class,
    sum(p.amount_gpu_ms) AS amount_gpu_ms
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
    AND p.kind = 'occupied'
    AND (p.account = {account:String} OR startsWith(p.account, concat({account:String}, '/')))
GROUP BY p.pool, p.hour, p.class
ORDER BY pool, hour_s, class
