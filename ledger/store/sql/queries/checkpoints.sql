-- The checkpoint of each cluster that is furthest into the log. FINAL, so that the facts of older ones are not shown.
SELECT
    cluster, seq, topic, `partition`, `offset`, `index`,
    toUnixTimestamp(recorded_at), toUnixTimestamp(ticked_at), toUnixTimestamp(closed_until),
    events, facts, facts_hash, log_hash
FROM partition_checkpoints FINAL
WHERE generation = {generation:String}
ORDER BY topic, `partition`, cluster
