-- GPU time lost in [from_s, until_s), by account and cause, as now known; `unsaved_gpu_ms` of runs that can be resumed
-- and told no checkpoint. `account` '' is every account, else that one and all below it.
SELECT
    pool,
    account,
    cause,
    toInt64(sum(l.times)) AS times,
    toInt64(sum(l.lost_gpu_ms)) AS lost_gpu_ms,
    toInt64(sumIf(l.lost_gpu_ms, l.basis = 'no_checkpoint')) AS unsaved_gpu_ms
FROM report_losses AS l
WHERE cluster = {cluster:String}
    AND ({pool:String} = '' OR pool = {pool:String})
    AND ({account:String} = '' OR account = {account:String} OR startsWith(account, concat({account:String}, '/')))
    AND hour >= toDateTime({from_s:Int64}, 'UTC')
    AND hour < toDateTime({until_s:Int64}, 'UTC')
GROUP BY pool, account, cause
ORDER BY pool, account, cause
