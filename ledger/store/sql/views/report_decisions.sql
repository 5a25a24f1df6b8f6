-- What people decided, as taken.

CREATE OR REPLACE VIEW report_decisions AS
SELECT
    t.cluster AS cluster,
    t.kind AS kind,
    t.subject AS subject,
    t.detail AS detail,
    t.author AS author,
    t.reason AS reason,
    t.occurred_at AS occurred_at,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM decisions AS t FINAL
INNER JOIN settled AS s ON s.cluster = t.cluster
WHERE t.generation = (SELECT generation FROM live) AND t.seq <= s.settled_seq;
