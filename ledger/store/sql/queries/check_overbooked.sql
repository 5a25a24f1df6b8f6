-- Overbooked time by cluster and node: faults of the data, booked and shown.
SELECT
    h.cluster AS cluster, h.node AS node, count() AS hours, sum(h.overbooked_gpu_ms) AS over_gpu_ms,
    min(h.hour) AS first_hour, max(h.hour) AS last_hour
FROM node_hours AS h FINAL
WHERE h.generation = {generation:String} AND h.overbooked_gpu_ms > 0
GROUP BY h.cluster, h.node
ORDER BY over_gpu_ms DESC, cluster, node
