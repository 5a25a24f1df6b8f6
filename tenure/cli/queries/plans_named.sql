-- Plans by name.
SELECT * FROM report_plans WHERE cluster = {cluster:String} AND plan IN {plans:Array(String)}
