-- Samples summed by run, GPU and closed hour.

CREATE OR REPLACE VIEW report_run_gpu_hours AS
SELECT
    cluster,
    hour,
    job,
    attempt,
    concat(job, '/', attempt) AS run,
    node,
    gpu,
    exact,
    sampled_gpu_ms,
    utilized_gpu_ms,
    idle_gpu_ms,
    utilized_gpu_ms / nullIf(sampled_gpu_ms, 0) AS utilization_ratio,
    sm_sampled_gpu_ms,
    sm_active_gpu_ms,
    sm_active_gpu_ms / nullIf(sm_sampled_gpu_ms, 0) AS sm_active_ratio,
    max_memory_used_mib,
    energy_j,
    xids,
    rolled_at
FROM run_gpu_hours FINAL
WHERE generation = (SELECT generation FROM live);
