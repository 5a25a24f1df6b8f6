-- The greatest offset of a partition, -1 for none; read from the end of the key.
SELECT if(count() = 0, -1, toInt64(max(place)))
FROM
(
    SELECT `offset` AS place
    FROM events
    WHERE topic = {topic:String} AND `partition` = {partition:UInt32}
    ORDER BY topic DESC, `partition` DESC, `offset` DESC
    LIMIT 1
)
