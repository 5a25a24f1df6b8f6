-- What accepted events said that a person should look at, recorded from from_s on until known_at_s, by name.
SELECT name, count() AS remarks, argMin(sentence, (recorded_at, seq)) AS sentence
FROM report_remarks
WHERE cluster = {cluster:String}
    AND recorded_at >= toDateTime({from_s:Int64}, 'UTC')
    AND recorded_at <= toDateTime({known_at_s:Int64}, 'UTC')
GROUP BY name
ORDER BY remarks DESC, name
