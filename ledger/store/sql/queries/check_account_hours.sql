-- Account hours, in their latest version, that are not the sum of the budget book's postings.
WITH posted AS
(
    SELECT
        cluster, pool, account, hour,
        sumIf(amount_gpu_ms, kind = 'claim' AND class = 'budget') AS claim,
        sumIf(amount_gpu_ms, kind = 'grant' AND class = 'budget') AS granted,
        sumIf(amount_gpu_ms, kind = 'charge' AND class = 'spent') AS charged,
        sumIf(amount_gpu_ms, kind = 'refund' AND class = 'budget') AS refunded
    FROM postings FINAL
    WHERE generation = {generation:String} AND book = 'budget' AND class != 'pool'
    GROUP BY cluster, pool, account, hour
),
kept AS
(
    SELECT
        cluster, pool, account, hour,
        argMax(claim_gpu_ms, seq) AS claim, argMax(grant_gpu_ms, seq) AS granted,
        argMax(charged_gpu_ms, seq) AS charged, argMax(refunded_gpu_ms, seq) AS refunded
    FROM account_hours FINAL
    WHERE generation = {generation:String}
    GROUP BY cluster, pool, account, hour
)
SELECT cluster, pool, account, hour, any(side) AS only_in
FROM
(
    SELECT 'postings' AS side, * FROM posted
    UNION ALL
    SELECT 'account_hours' AS side, * FROM kept
)
GROUP BY cluster, pool, account, hour, claim, granted, charged, refunded
HAVING count() != 2 AND (claim, granted, charged, refunded) != (0, 0, 0, 0)
ORDER BY cluster, pool, account, hour
