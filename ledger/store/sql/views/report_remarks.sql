-- What accepted events said that a person should look at.

CREATE OR REPLACE VIEW report_remarks AS
SELECT
    t.cluster AS cluster,
    t.name AS name,
    t.subject AS subject,
    t.sentence AS sentence,
    t.source AS source,
    t.event_id AS event_id,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM remarks AS t FINAL
INNER JOIN settled AS s ON s.cluster = t.cluster
WHERE t.generation = (SELECT generation FROM live) AND t.seq <= s.settled_seq;
