-- How far each partition of the log is folded and checkpointed.
SELECT topic, `partition`, `offset`
FROM partition_checkpoints FINAL
WHERE generation = (SELECT generation FROM live) AND cluster = ''
