-- Clusters with folded records of the log and no checkpoint, by partition: what their books were is not known any more.
SELECT
    e.topic AS topic, e.`partition` AS `partition`, e.cluster AS cluster,
    uniqExact(e.`offset`, e.`index`) AS records
FROM events AS e
INNER JOIN
(
    SELECT topic, `partition`, `offset` AS folded
    FROM partition_checkpoints FINAL
    WHERE generation = {generation:String} AND cluster = ''
) AS f ON f.topic = e.topic AND f.`partition` = e.`partition`
WHERE e.cluster != '' AND e.`offset` <= f.folded AND (e.topic, e.`partition`, e.cluster) NOT IN
(
    SELECT topic, `partition`, cluster FROM partition_checkpoints FINAL WHERE generation = {generation:String}
)
GROUP BY topic, `partition`, cluster
ORDER BY topic, `partition`, cluster
