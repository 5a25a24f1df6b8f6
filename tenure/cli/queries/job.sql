-- One job, as now known.
SELECT * FROM report_jobs WHERE cluster = {cluster:String} AND job = {job:String}
