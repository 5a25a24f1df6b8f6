-- Coverage of what is counted by closed hours: how many hours of each bucket a cluster has closed.
--
-- Parameters common to all metric queries. The period is [from_s, until_s), cut where a bucket begins, at `edges`; with
-- `hourly` every UTC hour is a bucket. `by_*` says which columns tell rows apart, the others are ''. A filter that is
-- '' keeps everything. `account` is that one and all below it, `depth` (0: any) the number of its path's segments.
SELECT
    if({hourly:Bool}, h.hour_s, roundDown(h.hour_s, {edges:Array(Int64)})) AS bucket_s,
    h.cluster AS cluster,
    toInt64(uniqExact(h.hour_s)) AS hours
FROM
(
    SELECT cluster, toInt64(toUnixTimestamp(hour)) AS hour_s
    FROM report_cluster_hours
    WHERE hour >= toDateTime({from_s:Int64}, 'UTC')
        AND hour < toDateTime({until_s:Int64}, 'UTC')
        AND ({cluster:String} = '' OR cluster = {cluster:String})
) AS h
GROUP BY bucket_s, cluster
ORDER BY cluster, bucket_s
