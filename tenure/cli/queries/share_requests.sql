-- Requests for another share with the decision on each, if there is one. A decision names its request in brackets at
-- the end of its detail. The directory is no part of the public views.
SELECT
    r.request AS request,
    r.cluster AS cluster,
    r.pool AS pool,
    r.account AS account,
    r.share_percent AS share_percent,
    r.author AS author,
    r.reason AS reason,
    toDateTime(r.occurred_at, 'UTC') AS requested_at,
    nullIf(d.detail, '') AS decision,
    nullIf(d.author, '') AS decided_by,
    nullIf(d.reason, '') AS decision_reason,
    d.occurred_at AS decided_at
FROM (SELECT * FROM share_requests FINAL) AS r
LEFT JOIN
(
    SELECT
        x.cluster AS cluster,
        extract(x.detail, '\\(([^()]*)\\)$') AS request,
        argMax(x.detail, x.occurred_at) AS detail,
        argMax(x.author, x.occurred_at) AS author,
        argMax(x.reason, x.occurred_at) AS reason,
        toNullable(max(x.occurred_at)) AS occurred_at
    FROM report_decisions AS x
    WHERE x.kind = 'share_decided'
    GROUP BY x.cluster, extract(x.detail, '\\(([^()]*)\\)$')
) AS d ON d.cluster = r.cluster AND d.request = r.request
WHERE {cluster:String} = '' OR r.cluster = {cluster:String}
ORDER BY r.occurred_at, r.request
