-- Dead letters of the cluster, and of none, recorded from from_s on until known_at_s, by reason.
SELECT
    reason,
    count() AS letters,
    toInt64(toUnixTimestamp(min(recorded_at))) AS first_s,
    toInt64(toUnixTimestamp(max(recorded_at))) AS last_s,
    argMin(sentence, recorded_at) AS sentence
FROM report_dead_letters
WHERE cluster IN ({cluster:String}, '')
    AND recorded_at >= toDateTime({from_s:Int64}, 'UTC')
    AND recorded_at < toDateTime({known_at_s:Int64} + 1, 'UTC')
GROUP BY reason
ORDER BY letters DESC, reason
