-- The greatest offset of a partition, -1 for none.
SELECT if(count() = 0, -1, toInt64(max(`offset`)))
FROM events
WHERE topic = {topic:String} AND `partition` = {partition:UInt32}
