-- How many samples there are by hour that may speak for [from_s, until_s): a sample lasts a day at most.
SELECT toInt64(toUnixTimestamp(toStartOfHour(at))) AS hour_s, count()
FROM gpu_samples
WHERE cluster = {cluster:String}
    AND at >= toDateTime(greatest(0, {from_s:Int64} - 86400), 'UTC')
    AND at < toDateTime({until_s:Int64}, 'UTC')
GROUP BY hour_s
