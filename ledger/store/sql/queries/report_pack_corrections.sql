-- Events that changed closed hours in [from_s, until_s), by type, as was known at known_at_s; of one account and all
-- below it, those that wrote a version of its hours. What an event moved is counted whole.
SELECT
    type,
    count() AS events,
    length(groupUniqArrayArray(arrayFilter(
        hour_s -> hour_s >= {from_s:Int64} AND hour_s < {until_s:Int64},
        range(toInt64(toUnixTimestamp(since)), toInt64(toUnixTimestamp(until)), 3600)
    ))) AS hours,
    sum(moved_gpu_ms) AS moved_gpu_ms,
    toInt64(toUnixTimestamp(min(recorded_at))) AS first_s,
    toInt64(toUnixTimestamp(max(recorded_at))) AS last_s
FROM report_corrections
WHERE cluster = {cluster:String}
    AND recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
    AND since < toDateTime({until_s:Int64}, 'UTC')
    AND until > toDateTime({from_s:Int64}, 'UTC')
    AND (
        ({account:String} = '' AND {pool:String} = '')
        OR cause IN
        (
            SELECT cause
            FROM account_hours
            WHERE generation = (SELECT generation FROM live)
                AND cluster = {cluster:String}
                AND ({pool:String} = '' OR pool = {pool:String})
                AND ({account:String} = '' OR account = {account:String}
                    OR startsWith(account, concat({account:String}, '/')))
                AND hour >= toDateTime({from_s:Int64}, 'UTC')
                AND hour < toDateTime({until_s:Int64}, 'UTC')
            UNION ALL
            SELECT cause
            FROM cluster_hours
            WHERE {account:String} = ''
                AND generation = (SELECT generation FROM live)
                AND cluster = {cluster:String}
                AND pool = {pool:String}
                AND hour >= toDateTime({from_s:Int64}, 'UTC')
                AND hour < toDateTime({until_s:Int64}, 'UTC')
        )
    )
GROUP BY type
ORDER BY moved_gpu_ms DESC, type
