-- What the enforcer did, an act a row, the latest first: plans, orders, what came of them, room held, ends. Empty text
-- and 0 are no filter. A job is one that asks or yields, an account that of such a job, unfunded or not.
WITH
    of_account AS
    (
        SELECT job
        FROM report_jobs
        WHERE cluster = {cluster:String}
            AND (account = {account:String} OR startsWith(account, concat({account:String}, '/')))
    ),
    named AS
    (
        SELECT plan
        FROM report_preemptions
        WHERE cluster = {cluster:String}
            AND ({job:String} = '' OR job = {job:String})
            AND ({account:String} = '' OR job IN (SELECT job FROM of_account))
    ),
    chosen AS
    (
        SELECT *
        FROM report_plans
        WHERE cluster = {cluster:String}
            AND ({pool:String} = '' OR pool = {pool:String})
            AND ({mode:String} = '' OR mode = {mode:String})
            AND (
                plan IN (SELECT plan FROM named)
                OR (
                    ({job:String} = '' OR job = {job:String})
                    AND ({account:String} = '' OR job IN (SELECT job FROM of_account))
                )
            )
    ),
    runs AS
    (
        SELECT r.*, p.made_seq AS made_seq, p.pool AS pool
        FROM report_preemptions AS r
        INNER JOIN chosen AS p ON p.plan = r.plan
        WHERE r.cluster = {cluster:String}
    )
SELECT * FROM
(
    SELECT committed_at AS at, 'plan' AS act, 1 AS step, made_seq, plan, pool, mode, job, '' AS attempt, account
    FROM chosen
    UNION ALL
    SELECT assumeNotNull(issued_at) AS at, 'order' AS act, 2 AS step, made_seq, plan, pool, mode, job, attempt, account
    FROM runs WHERE isNotNull(issued_at)
    UNION ALL
    SELECT assumeNotNull(settled_at) AS at, 'outcome' AS act, 3 AS step, made_seq, plan, pool, mode, job, attempt, account
    FROM runs WHERE isNotNull(settled_at)
    UNION ALL
    SELECT assumeNotNull(held_at) AS at, 'hold' AS act, 4 AS step, made_seq, plan, pool, mode, job, '' AS attempt, account
    FROM chosen WHERE isNotNull(held_at)
    UNION ALL
    SELECT assumeNotNull(expired_at) AS at, 'end' AS act, 5 AS step, made_seq, plan, pool, mode, job, '' AS attempt, account
    FROM chosen WHERE isNotNull(expired_at)
)
WHERE ({since_s:Int64} = 0 OR at >= toDateTime({since_s:Int64}, 'UTC'))
    AND ({until_s:Int64} = 0 OR at < toDateTime({until_s:Int64}, 'UTC'))
ORDER BY at DESC, made_seq DESC, plan DESC, step DESC, job DESC, attempt DESC
LIMIT {limit:UInt64}
