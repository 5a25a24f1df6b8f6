-- Dead letters whose event stands further on in the log and was taken there, with the first such place. It is the same
-- event if its source and id are, or if it was sent again under that id and a new end (`again`).
-- A decision that was judged is passed over whenever its own id comes again, so that does not count.
WITH
    letters AS
    (
        SELECT
            topic, `partition`, `offset`, `index`, source, event_id, reason,
            splitByString({again:String}, event_id)[1] AS id
        FROM dead_letters FINAL
        WHERE event_id != ''
    ),
    ends AS
    (
        SELECT topic, `partition`, `offset` AS last
        FROM partition_checkpoints FINAL
        WHERE generation = (SELECT generation FROM live) AND cluster = ''
    ),
    taken AS
    (
        SELECT topic, `partition`, `offset`, `index`, source, splitByString({again:String}, event_id)[1] AS id
        FROM events
        INNER JOIN ends USING (topic, `partition`)
        WHERE `offset` <= last
            AND (source, id) IN (SELECT source, id FROM letters)
            AND (topic, `partition`, `offset`, `index`) NOT IN
            (
                SELECT topic, `partition`, `offset`, `index` FROM letters
            )
            AND NOT
            (
                type IN {decisions:Array(String)}
                AND (source, event_id) IN (SELECT source, event_id FROM letters WHERE reason IN {judged:Array(String)})
            )
    )
SELECT
    l.topic, l.`partition`, l.`offset`, l.`index`,
    min((t.topic, t.`partition`, t.`offset`, t.`index`)) AS place
FROM letters AS l
INNER JOIN taken AS t ON t.source = l.source AND t.id = l.id
WHERE t.topic != l.topic OR (t.`partition`, t.`offset`, t.`index`) > (l.`partition`, l.`offset`, l.`index`)
GROUP BY ALL
