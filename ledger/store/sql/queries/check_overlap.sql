-- Runs that hold more of a node in an hour than they were placed with: a run that overlaps itself.
SELECT
    p.cluster AS cluster, p.run AS run, p.node AS node, p.hour AS hour,
    p.occupied_gpu_ms, r.milli * 3600 AS most_gpu_ms
FROM
(
    SELECT cluster, run, node, hour, sum(amount_gpu_ms) AS occupied_gpu_ms
    FROM postings FINAL
    WHERE generation = {generation:String} AND book = 'capacity' AND kind = 'occupied'
    GROUP BY cluster, run, node, hour
) AS p
LEFT JOIN
(
    SELECT cluster, concat(job, '/', attempt) AS run, node, milli
    FROM runs FINAL
    ARRAY JOIN placed_nodes AS node, placed_gpus_milli AS milli
    WHERE generation = {generation:String}
) AS r ON r.cluster = p.cluster AND r.run = p.run AND r.node = p.node
WHERE p.occupied_gpu_ms > r.milli * 3600
ORDER BY cluster, run, node, hour
