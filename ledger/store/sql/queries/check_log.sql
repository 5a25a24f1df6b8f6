-- Partitions of the log: what they hold, and whether the offsets are without gaps from 0.
SELECT
    topic, `partition`, count() AS events, uniqExact(`offset`) AS records,
    min(`offset`) AS first_offset, max(`offset`) AS last_offset
FROM events FINAL
GROUP BY topic, `partition`
ORDER BY topic, `partition`
