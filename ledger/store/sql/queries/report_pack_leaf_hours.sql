-- What each leaf account could claim, with grants, and got, hour by hour over [from_s, until_s), and what running
-- contracts still bound at each hour's end, as was known at known_at_s: what its ratio is made of.
-- `account` '' is every account, else that one and all below it.
SELECT
    v.pool AS pool,
    v.account AS account,
    toInt64(toUnixTimestamp(v.hour)) AS hour_s,
    argMax(v.claim_gpu_ms + v.grant_gpu_ms, v.seq) AS claim_gpu_ms,
    argMax(v.charged_gpu_ms - v.refunded_gpu_ms, v.seq) AS delivered_gpu_ms,
    argMax(v.commitment_gpu_ms, v.seq) AS commitment_gpu_ms
FROM account_hours AS v FINAL
INNER JOIN settled AS s ON s.cluster = v.cluster
WHERE v.generation = (SELECT generation FROM live)
    AND v.seq <= s.settled_seq
    AND v.recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND v.cluster = {cluster:String}
    AND ({pool:String} = '' OR v.pool = {pool:String})
    AND ({account:String} = '' OR v.account = {account:String}
        OR startsWith(v.account, concat({account:String}, '/')))
    AND v.hour >= toDateTime({from_s:Int64}, 'UTC')
    AND v.hour < toDateTime({until_s:Int64}, 'UTC')
GROUP BY v.pool, v.account, v.hour
HAVING claim_gpu_ms != 0 OR delivered_gpu_ms != 0 OR commitment_gpu_ms != 0
ORDER BY pool, account, hour_s
