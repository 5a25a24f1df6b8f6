-- What was decided on a cluster's policy, the latest first.
SELECT detail, author, reason, occurred_at, seq, recorded_at
FROM report_decisions
WHERE cluster = {cluster:String} AND kind = 'policy'
ORDER BY seq DESC
