-- Decisions that moved runs of the job to another account.
SELECT recorded_at, subject, detail, author, reason
FROM report_decisions
WHERE cluster = {cluster:String} AND kind = 'reassigned' AND startsWith(subject, concat({job:String}, '/'))
ORDER BY seq
