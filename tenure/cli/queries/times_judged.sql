-- How often a decision came under this id and was judged: of those the first counts, whatever the others say.
SELECT uniqExact(topic, `partition`, `offset`, `index`)
FROM events
WHERE cluster = {cluster:String} AND source = {source:String} AND event_id = {id:String}
    AND (topic, `partition`, `offset`, `index`) NOT IN
    (
        SELECT topic, `partition`, `offset`, `index` FROM dead_letters FINAL WHERE reason NOT IN {judged:Array(String)}
    )
