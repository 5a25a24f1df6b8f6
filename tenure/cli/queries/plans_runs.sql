-- The runs that plans name, and what came of the orders.
SELECT * FROM report_preemptions
WHERE cluster = {cluster:String} AND plan IN {plans:Array(String)}
ORDER BY plan, job, attempt
