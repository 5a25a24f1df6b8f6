-- Each node's closed hours as now known. Replaced in place, so it reads on past the last checkpoint.

CREATE OR REPLACE VIEW report_node_hours AS
SELECT
    cluster,
    pool,
    node,
    hour,
    capacity_gpu_ms,
    overbooked_gpu_ms,
    unfunded_gpu_ms,
    protected_gpu_ms,
    interruptible_gpu_ms,
    suspended_gpu_ms,
    idle_gpu_ms,
    unavailable_planned_gpu_ms,
    unavailable_unplanned_gpu_ms,
    capacity_gpu_ms - unavailable_planned_gpu_ms - unavailable_unplanned_gpu_ms AS available_gpu_ms,
    unfunded_gpu_ms + protected_gpu_ms + interruptible_gpu_ms + suspended_gpu_ms AS occupied_gpu_ms,
    seq,
    recorded_at
FROM node_hours FINAL
WHERE generation = (SELECT generation FROM live);
