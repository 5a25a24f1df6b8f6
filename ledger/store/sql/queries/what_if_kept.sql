-- The longest span inside [from_s, until_s) that was played, of those the last, with its figures.
-- `policy` '' is every policy.
WITH
    chosen AS
    (
        SELECT since, until, policy
        FROM report_what_ifs
        WHERE cluster = {cluster:String}
            AND since >= toDateTime({from_s:Int64}, 'UTC')
            AND until <= toDateTime({until_s:Int64}, 'UTC')
            AND {policy:String} IN ('', policy)
        GROUP BY since, until, policy
        ORDER BY dateDiff('second', since, until) DESC, max(recorded_at) DESC, since, policy
        LIMIT 1
    )
SELECT
    toInt64(toUnixTimestamp(w.since)) AS from_s,
    toInt64(toUnixTimestamp(w.until)) AS until_s,
    w.policy AS policy,
    toInt64(w.seq) AS seq,
    w.side AS side,
    w.pool AS pool,
    w.account AS account,
    w.figure AS figure,
    w.subject AS subject,
    w.amount AS amount
FROM report_what_ifs AS w
INNER JOIN chosen AS c ON c.since = w.since AND c.until = w.until AND c.policy = w.policy
WHERE w.cluster = {cluster:String}
ORDER BY pool, account, figure, subject, side
