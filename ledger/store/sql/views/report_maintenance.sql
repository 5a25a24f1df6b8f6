-- Maintenance windows, each as it was last planned.

CREATE OR REPLACE VIEW report_maintenance AS
SELECT
    t.cluster AS cluster,
    t.window AS window,
    t.nodes AS nodes,
    t.since AS since,
    t.until AS until,
    t.cancelled AS cancelled,
    t.author AS author,
    t.reason AS reason,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM maintenance AS t FINAL
WHERE t.generation = (SELECT generation FROM live);
