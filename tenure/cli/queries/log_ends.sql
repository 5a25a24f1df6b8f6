-- The last place of each partition of the log.
SELECT topic, `partition`, max(`offset`) AS last_offset
FROM events
GROUP BY topic, `partition`
