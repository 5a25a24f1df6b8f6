-- The plans in which a job asks or one of its runs yields, the earliest first.
SELECT * FROM report_plans
WHERE cluster = {cluster:String}
    AND (job = {job:String} OR plan IN (
        SELECT plan FROM report_preemptions WHERE cluster = {cluster:String} AND job = {job:String}
    ))
ORDER BY committed_at, made_seq, plan
