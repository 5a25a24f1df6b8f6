-- Records that could not be read or were refused, of every generation: the log is one.

CREATE OR REPLACE VIEW report_dead_letters AS
SELECT
    cluster,
    reason,
    sentence,
    source,
    event_id,
    topic,
    `partition`,
    `offset`,
    `index`,
    toValidUTF8(raw) AS raw_text,
    length(raw) AS raw_bytes,
    recorded_at
FROM dead_letters FINAL;
