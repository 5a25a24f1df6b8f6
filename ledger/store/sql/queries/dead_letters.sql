-- The latest dead letters.
SELECT
    topic, `partition`, `offset`, `index`, cluster, reason, sentence, raw,
    toUnixTimestamp64Micro(recorded_at), source, event_id
FROM dead_letters FINAL
WHERE {every_cluster:Bool} OR cluster = {cluster:String}
ORDER BY recorded_at DESC, topic DESC, `partition` DESC, `offset` DESC, `index` DESC
LIMIT {limit:UInt64}
