-- Jobs by the latest submitted first, with what their runs held and were charged. Empty text and 0 are no filter.
SELECT
    j.job AS job,
    j.user AS user,
    j.account AS account,
    j.kind AS kind,
    j.gpus_milli AS gpus_milli,
    j.gpu_type AS gpu_type,
    j.min_runtime_s AS min_runtime_s,
    j.resumable AS resumable,
    j.state AS state,
    j.outcome AS outcome,
    j.attempts AS attempts,
    j.submitted_at AS submitted_at,
    j.ended_at AS ended_at,
    j.waited_s AS waited_s,
    r.pool AS pool,
    r.class AS class,
    r.funded AS funded,
    r.funding_reason AS funding_reason,
    r.contract_end AS contract_end,
    r.started_at AS started_at,
    r.elapsed_s AS elapsed_s,
    r.held_gpu_ms AS held_gpu_ms,
    r.charged_gpu_ms AS charged_gpu_ms,
    r.refunded_gpu_ms AS refunded_gpu_ms
FROM report_jobs AS j
LEFT JOIN
(
    SELECT
        x.job AS job,
        argMax(x.pool, x.started_at) AS pool,
        argMax(x.class, x.started_at) AS class,
        argMax(x.funded, x.started_at) AS funded,
        argMax(x.funding_reason, x.started_at) AS funding_reason,
        argMax(x.contract_end, x.started_at) AS contract_end,
        min(x.started_at) AS started_at,
        sum(x.elapsed_s) AS elapsed_s,
        sum(x.held_gpu_ms) AS held_gpu_ms,
        sum(x.charged_gpu_ms) AS charged_gpu_ms,
        sum(x.refunded_gpu_ms) AS refunded_gpu_ms
    FROM report_runs AS x
    WHERE x.cluster = {cluster:String}
    GROUP BY job
) AS r ON r.job = j.job
WHERE j.cluster = {cluster:String}
    AND ({account:String} = '' OR j.account = {account:String} OR startsWith(j.account, concat({account:String}, '/')))
    AND ({user:String} = '' OR j.user = {user:String})
    AND ({state:String} = '' OR j.state = {state:String})
    AND ({outcome:String} = '' OR j.outcome = {outcome:String})
    AND ({kind:String} = '' OR j.kind = {kind:String})
    AND ({class:String} = '' OR r.class = {class:String})
    AND ({pool:String} = '' OR r.pool = {pool:String} OR (r.pool IS NULL AND j.gpu_type = {pool:String}))
    AND ({since_s:Int64} = 0 OR j.ended_at IS NULL OR j.ended_at >= toDateTime({since_s:Int64}, 'UTC'))
    AND ({until_s:Int64} = 0 OR j.submitted_at < toDateTime({until_s:Int64}, 'UTC'))
ORDER BY j.submitted_at DESC, j.job DESC
LIMIT {limit:UInt64}
