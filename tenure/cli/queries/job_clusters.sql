-- The clusters that know a job of this name.
SELECT cluster FROM report_jobs WHERE job = {job:String}
UNION DISTINCT
SELECT cluster FROM report_runs WHERE job = {job:String}
ORDER BY cluster
