-- The next events of a partition; WITH TIES keeps a batched record whole.
SELECT
    topic, `partition`, `offset`, `index`, cluster, source, event_id, type,
    toUnixTimestamp64Micro(occurred_at), toUnixTimestamp64Micro(recorded_at), raw
FROM
(
    SELECT *
    FROM events FINAL
    WHERE topic = {topic:String} AND `partition` = {partition:UInt32} AND toInt64(`offset`) > {after:Int64}
    ORDER BY `offset`
    LIMIT {limit:UInt64} WITH TIES
)
ORDER BY `offset`, `index`
