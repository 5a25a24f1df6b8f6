-- Grants that accrue within [from_s, until_s), or that were made then, as was known at known_at_s.
SELECT
    pool,
    account,
    grant,
    amount_gpu_ms,
    toInt64(toUnixTimestamp(since)) AS since_s,
    toInt64(toUnixTimestamp(until)) AS until_s,
    author,
    reason,
    toInt64(toUnixTimestamp(recorded_at)) AS recorded_s
FROM report_grants
WHERE cluster = {cluster:String}
    AND ({pool:String} = '' OR pool = {pool:String})
    AND recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND (
        (since < toDateTime({until_s:Int64}, 'UTC') AND until > toDateTime({from_s:Int64}, 'UTC'))
        OR (recorded_at >= toDateTime({from_s:Int64}, 'UTC') AND recorded_at < toDateTime({until_s:Int64}, 'UTC'))
    )
ORDER BY recorded_s, grant
