-- The attempts of a job, with what is posted of them in closed hours.
SELECT
    r.*,
    p.posted_charge_gpu_ms AS posted_charge_gpu_ms,
    p.posted_refund_gpu_ms AS posted_refund_gpu_ms
FROM report_runs AS r
LEFT JOIN
(
    SELECT
        run,
        sumIf(amount_gpu_ms, kind = 'charge') AS posted_charge_gpu_ms,
        -sumIf(amount_gpu_ms, kind = 'refund') AS posted_refund_gpu_ms
    FROM report_postings
    WHERE cluster = {cluster:String} AND book = 'budget' AND class = 'spent'
        AND startsWith(run, concat({job:String}, '/'))
    GROUP BY run
) AS p ON p.run = r.run
WHERE r.cluster = {cluster:String} AND r.job = {job:String}
ORDER BY r.started_at, r.attempt
