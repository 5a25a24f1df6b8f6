-- What people decided, in the order of the log, as was known at known_at_s: in [from_s, until_s), and policy and
-- answers to requests at any time before.
SELECT
    seq,
    kind,
    subject,
    detail,
    author,
    reason,
    toInt64(toUnixTimestamp(occurred_at)) AS decided_s
FROM report_decisions
WHERE cluster = {cluster:String}
    AND recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND occurred_at < toDateTime({until_s:Int64}, 'UTC')
    AND (kind IN ('policy', 'share_decided') OR occurred_at >= toDateTime({from_s:Int64}, 'UTC'))
ORDER BY seq, kind, subject
