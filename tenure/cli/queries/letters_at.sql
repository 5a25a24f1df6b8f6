-- Dead letters among places of the log.
SELECT `offset`, `index`, reason, sentence
FROM dead_letters FINAL
WHERE topic = {topic:String} AND `partition` = {partition:UInt32} AND `offset` IN {offsets:Array(UInt64)}
