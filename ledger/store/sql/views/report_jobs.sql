-- Jobs as now known. Replaced in place, so it reads on past the last checkpoint.

CREATE OR REPLACE VIEW report_jobs AS
SELECT
    cluster,
    job,
    user,
    account,
    kind,
    gang,
    gpus_milli,
    gpu_type,
    shape_nodes,
    shape_gpus_milli,
    min_runtime_s,
    resumable,
    priority,
    submitted_at,
    eligible_from,
    state,
    attempts,
    ended_at,
    outcome,
    waited_s,
    seq,
    recorded_at
FROM jobs FINAL
WHERE generation = (SELECT generation FROM live);
