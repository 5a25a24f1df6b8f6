-- Requests for other shares, made by known_at_s; which of them belong to a review is the pack's to say.
SELECT
    request,
    pool,
    account,
    share_percent,
    author,
    reason,
    toInt64(toUnixTimestamp(occurred_at)) AS asked_s
FROM share_requests FINAL
WHERE cluster = {cluster:String} AND occurred_at < toDateTime({known_at_s:Int64} + 1, 'UTC')
ORDER BY asked_s, request
