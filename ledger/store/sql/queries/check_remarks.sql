-- What accepted events said that a person should look at, by name.
SELECT cluster, name, count() AS remarks, any(sentence) AS example, any(subject) AS subject
FROM remarks FINAL
WHERE generation = {generation:String}
GROUP BY cluster, name
ORDER BY cluster, name
