-- Every account that was ever given a share or a grant, or has an hour: to tell one that is misspelt. `cluster` '' is
-- every cluster.
SELECT DISTINCT account
FROM
(
    SELECT account FROM report_shares WHERE {cluster:String} IN ('', cluster)
    UNION ALL
    SELECT parent AS account FROM report_shares WHERE {cluster:String} IN ('', cluster)
    UNION ALL
    SELECT account FROM report_grants WHERE {cluster:String} IN ('', cluster)
    UNION ALL
    SELECT account
    FROM account_hours
    WHERE generation = (SELECT generation FROM live) AND {cluster:String} IN ('', cluster)
)
WHERE account != ''
ORDER BY account
