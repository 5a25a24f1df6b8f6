-- Runs that plans name, and what came of it.

CREATE OR REPLACE VIEW report_preemptions AS
SELECT
    t.cluster AS cluster,
    t.plan AS plan,
    t.job AS job,
    t.attempt AS attempt,
    concat(t.job, '/', t.attempt) AS run,
    t.mode AS mode,
    t.account AS account,
    t.class AS class,
    t.rule AS rule,
    t.gpus_milli AS gpus_milli,
    t.lost_gpu_ms AS lost_gpu_ms,
    t.resumable AS resumable,
    t.how AS how,
    t.grace_s AS grace_s,
    t.issued_at AS issued_at,
    t.settled_at AS settled_at,
    t.outcome AS outcome,
    t.sentence AS sentence,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM preemptions AS t FINAL
WHERE t.generation = (SELECT generation FROM live);
