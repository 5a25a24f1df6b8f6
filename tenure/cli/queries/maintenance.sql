-- Maintenance windows as they were last planned; those that are over or cancelled only where all are asked for.
SELECT window, nodes, since, until, cancelled, author, reason, recorded_at
FROM report_maintenance
WHERE cluster = {cluster:String}
    AND ({everything:Bool} OR (NOT cancelled AND until > fromUnixTimestamp({now_s:Int64})))
ORDER BY since, window
