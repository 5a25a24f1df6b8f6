-- Node hours in which runs held more than there was.
SELECT
    x.cluster AS cluster,
    count() AS hours,
    sum(x.overbooked_gpu_ms) AS overbooked_gpu_ms,
    uniqExact(x.node) AS nodes
FROM report_node_hours AS x
WHERE x.overbooked_gpu_ms > 0
GROUP BY cluster
ORDER BY cluster
