-- Every line of the accepted revisions of shares, as was known at known_at_s.
SELECT
    pool,
    parent,
    revision,
    child,
    toString(share_percent) AS share_percent,
    ifNull(slot_limit_milli, -1) AS slot_limit_milli,
    toInt64(toUnixTimestamp(effective_at)) AS effective_s,
    backdated,
    author,
    reason,
    toInt64(toUnixTimestamp(recorded_at)) AS recorded_s
FROM report_shares
WHERE cluster = {cluster:String} AND recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
ORDER BY pool, parent, revision, child
