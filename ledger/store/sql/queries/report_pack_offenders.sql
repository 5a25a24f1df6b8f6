-- The jobs that held most GPU time for nothing over [from_s, until_s), as samples saw it: all of it now known. What
-- they occupied is the book's, so that it can be seen how much of it was sampled at all.
WITH
    sampled AS
    (
        SELECT
            r.pool AS pool,
            r.job AS job,
            r.user AS user,
            if(r.funded, r.ledger_account, r.account) AS account,
            r.kind AS kind,
            max(r.gpus_milli) AS most_gpus_milli,
            groupUniqArray(r.run) AS runs,
            toInt64(round(sum(g.sampled_gpu_ms))) AS sampled_gpu_ms,
            toInt64(round(sum(g.utilized_gpu_ms))) AS utilized_gpu_ms,
            toInt64(round(sum(g.idle_gpu_ms))) AS idle_gpu_ms
        FROM report_run_gpu_hours AS g
        INNER JOIN report_runs AS r ON r.cluster = g.cluster AND r.run = g.run
        WHERE g.cluster = {cluster:String}
            AND g.hour >= toDateTime({from_s:Int64}, 'UTC')
            AND g.hour < toDateTime({until_s:Int64}, 'UTC')
            AND r.cluster = {cluster:String}
            AND ({pool:String} = '' OR r.pool = {pool:String})
        GROUP BY r.pool, r.job, r.user, account, r.kind
        HAVING idle_gpu_ms > 0
            AND ({account:String} = '' OR account = {account:String}
                OR startsWith(account, concat({account:String}, '/')))
        ORDER BY idle_gpu_ms DESC, job
        LIMIT {limit:UInt64}
    ),
    occupied AS
    (
        SELECT p.run AS run, sum(p.amount_gpu_ms) AS amount_gpu_ms
        FROM report_postings AS p
        WHERE p.cluster = {cluster:String}
            AND p.hour >= toDateTime({from_s:Int64}, 'UTC')
            AND p.hour < toDateTime({until_s:Int64}, 'UTC')
            AND p.book = 'capacity'
            AND p.kind = 'occupied'
            AND p.run IN (SELECT arrayJoin(runs) FROM sampled)
        GROUP BY p.run
    )
SELECT
    s.pool AS pool,
    s.job AS job,
    s.user AS user,
    s.account AS account,
    s.kind AS kind,
    s.most_gpus_milli AS gpus_milli,
    sum(o.amount_gpu_ms) AS occupied_gpu_ms,
    s.sampled_gpu_ms AS sampled_gpu_ms,
    s.utilized_gpu_ms AS utilized_gpu_ms,
    s.idle_gpu_ms AS idle_gpu_ms
FROM sampled AS s
ARRAY JOIN s.runs AS run
LEFT JOIN occupied AS o ON o.run = run
GROUP BY pool, job, user, account, kind, gpus_milli, sampled_gpu_ms, utilized_gpu_ms, idle_gpu_ms
ORDER BY idle_gpu_ms DESC, job
