-- When the last record of each partition that is folded and checkpointed was recorded.
SELECT topic, `partition`, toUnixTimestamp(max(recorded_at)) AS recorded_s
FROM events
WHERE (topic, `partition`, `offset`) IN
(
    SELECT topic, `partition`, `offset`
    FROM partition_checkpoints FINAL
    WHERE generation = (SELECT generation FROM live) AND cluster = ''
)
GROUP BY topic, `partition`
