-- The latest settled version of each pool's closed hours.

CREATE OR REPLACE VIEW report_cluster_hours AS
SELECT
    h.cluster AS cluster,
    h.pool AS pool,
    h.hour AS hour,
    argMax(h.capacity_gpu_ms, h.seq) AS capacity_gpu_ms,
    argMax(h.overbooked_gpu_ms, h.seq) AS overbooked_gpu_ms,
    argMax(h.unfunded_gpu_ms, h.seq) AS unfunded_gpu_ms,
    argMax(h.protected_gpu_ms, h.seq) AS protected_gpu_ms,
    argMax(h.interruptible_gpu_ms, h.seq) AS interruptible_gpu_ms,
    argMax(h.suspended_gpu_ms, h.seq) AS suspended_gpu_ms,
    argMax(h.idle_gpu_ms, h.seq) AS idle_gpu_ms,
    argMax(h.unavailable_planned_gpu_ms, h.seq) AS unavailable_planned_gpu_ms,
    argMax(h.unavailable_unplanned_gpu_ms, h.seq) AS unavailable_unplanned_gpu_ms,
    argMax(h.claimed_gpu_ms, h.seq) AS claimed_gpu_ms,
    capacity_gpu_ms - unavailable_planned_gpu_ms - unavailable_unplanned_gpu_ms AS available_gpu_ms,
    unfunded_gpu_ms + protected_gpu_ms + interruptible_gpu_ms + suspended_gpu_ms AS occupied_gpu_ms,
    count() AS versions,
    max(h.seq) AS seq,
    max(h.recorded_at) AS recorded_at
FROM cluster_hours AS h FINAL
INNER JOIN settled AS s ON s.cluster = h.cluster
WHERE h.generation = (SELECT generation FROM live) AND h.seq <= s.settled_seq
GROUP BY h.cluster, h.pool, h.hour;
