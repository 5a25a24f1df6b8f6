-- Corrections of closed hours in which postings of the job's runs changed. Every leg of a move is posted twice, so
-- half the absolute sum is what changed its place.
SELECT
    c.recorded_at AS recorded_at,
    c.occurred_at AS occurred_at,
    c.type AS type,
    c.source AS source,
    c.event_id AS event_id,
    c.subject AS subject,
    c.since AS since,
    c.until AS until,
    p.charge_gpu_ms AS charge_gpu_ms,
    p.refund_gpu_ms AS refund_gpu_ms,
    p.occupied_gpu_ms AS occupied_gpu_ms
FROM report_corrections AS c
INNER JOIN
(
    SELECT
        cause,
        sumIf(amount_gpu_ms, class = 'spent' AND kind = 'charge') AS charge_gpu_ms,
        -sumIf(amount_gpu_ms, class = 'spent' AND kind = 'refund') AS refund_gpu_ms,
        sumIf(amount_gpu_ms, kind = 'occupied') AS occupied_gpu_ms
    FROM report_postings
    WHERE cluster = {cluster:String} AND startsWith(run, concat({job:String}, '/'))
    GROUP BY cause
) AS p ON p.cause = lower(hex(c.cause))
WHERE c.cluster = {cluster:String}
ORDER BY c.seq
