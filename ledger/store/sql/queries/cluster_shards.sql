-- How many shards a cluster has, by its name, among all that the server knows.
SELECT cluster, uniqExact(shard_num) FROM system.clusters GROUP BY cluster ORDER BY cluster
