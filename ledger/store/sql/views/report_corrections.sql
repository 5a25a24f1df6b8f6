-- Events that changed hours already closed, and by how much.

CREATE OR REPLACE VIEW report_corrections AS
SELECT
    t.cluster AS cluster,
    t.cause AS cause,
    t.source AS source,
    t.event_id AS event_id,
    t.type AS type,
    t.subject AS subject,
    t.occurred_at AS occurred_at,
    t.since AS since,
    t.until AS until,
    t.moved_gpu_ms AS moved_gpu_ms,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM corrections AS t FINAL
INNER JOIN settled AS s ON s.cluster = t.cluster
WHERE t.generation = (SELECT generation FROM live) AND t.seq <= s.settled_seq;
