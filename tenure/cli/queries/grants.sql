-- Grants with what has accrued of them by the last closed hour.
SELECT
    g.cluster AS cluster,
    g.pool AS pool,
    g.account AS account,
    g.grant AS grant,
    g.amount_gpu_ms AS amount_gpu_ms,
    a.accrued_gpu_ms AS accrued_gpu_ms,
    g.since AS since,
    g.until AS until,
    g.author AS author,
    g.reason AS reason,
    g.recorded_at AS recorded_at
FROM report_grants AS g
LEFT JOIN
(
    SELECT run, sum(amount_gpu_ms) AS accrued_gpu_ms
    FROM report_postings
    WHERE cluster = {cluster:String} AND book = 'budget' AND class = 'budget' AND kind = 'grant'
    GROUP BY run
) AS a ON a.run = g.grant
WHERE g.cluster = {cluster:String}
    AND ({account:String} = '' OR g.account = {account:String} OR startsWith(g.account, concat({account:String}, '/')))
ORDER BY g.since, g.account
