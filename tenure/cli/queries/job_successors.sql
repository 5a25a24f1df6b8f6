-- What started on the nodes of a run in the quarter of an hour after it ended.
SELECT s.job AS job, s.account AS account, s.user AS user, s.gpus_milli AS gpus_milli, s.started_at AS started_at
FROM report_runs AS s
WHERE s.cluster = {cluster:String} AND s.job != {job:String}
    AND s.started_at >= toDateTime({ended_s:Int64}, 'UTC')
    AND s.started_at <= toDateTime({ended_s:Int64} + 900, 'UTC')
    AND hasAny(CAST(s.placed_nodes, 'Array(String)'), {nodes:Array(String)})
ORDER BY s.started_at, s.gpus_milli DESC
LIMIT 5
