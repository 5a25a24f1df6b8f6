-- What was posted for the hours [from_s, until_s), as it was known at known_at_s, summed by account, class and kind.
-- `cluster` '' is every cluster; `account` '' is every account, else that one and all below it.
SELECT
    p.cluster AS cluster,
    p.pool AS pool,
    p.book AS book,
    p.account AS account,
    p.class AS class,
    p.kind AS kind,
    sum(p.amount_gpu_ms) AS amount_gpu_ms,
    count() AS postings,
    max(p.seq) AS seq,
    max(p.recorded_at) AS recorded_at
FROM postings AS p FINAL
INNER JOIN settled AS s ON s.cluster = p.cluster
WHERE p.generation = (SELECT generation FROM live)
    AND p.seq <= s.settled_seq
    AND p.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND p.hour >= toDateTime({from_s:Int64}, 'UTC')
    AND p.hour < toDateTime({until_s:Int64}, 'UTC')
    AND ({cluster:String} = '' OR p.cluster = {cluster:String})
    AND ({account:String} = '' OR p.account = {account:String}
        OR startsWith(p.account, concat({account:String}, '/')))
GROUP BY p.cluster, p.pool, p.book, p.account, p.class, p.kind
ORDER BY cluster, pool, book, account, class, kind
