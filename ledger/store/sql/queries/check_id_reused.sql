-- Ids under which two different contents came, whatever they spoke of; when it was recorded is no content.
SELECT source, event_id, uniqExact(cityHash64(replaceRegexpOne(raw, '"recordedtime": ?"[^"]*",? ?', ''))) AS contents
FROM events FINAL
WHERE event_id != ''
GROUP BY source, event_id
HAVING contents > 1
ORDER BY source, event_id
