-- Requests for another share as they stand, every one once.
SELECT
    request, cluster, pool, account, share_percent, author, reason, toUnixTimestamp64Micro(occurred_at) AS occurred_us
FROM share_requests FINAL
ORDER BY request
