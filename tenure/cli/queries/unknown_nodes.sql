-- Runs on nodes nobody has described.
SELECT
    x.cluster AS cluster,
    count() AS runs,
    sum(x.held_gpu_ms) AS held_gpu_ms,
    arraySlice(arraySort(groupUniqArrayArray(x.placed_nodes)), 1, 5) AS nodes
FROM report_runs AS x
WHERE has(x.flags, 'unknown_node')
GROUP BY cluster
ORDER BY cluster
