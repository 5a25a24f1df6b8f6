-- What accepted events said of the job that a person should look at.
SELECT recorded_at, name, sentence
FROM report_remarks
WHERE cluster = {cluster:String} AND (subject = {job:String} OR startsWith(subject, concat({job:String}, '/')))
ORDER BY seq
