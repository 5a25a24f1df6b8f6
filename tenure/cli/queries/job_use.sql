-- What the samples say of the job's GPUs.
SELECT
    toInt64(sum(sampled_gpu_ms)) AS sampled_gpu_ms,
    toInt64(sum(utilized_gpu_ms)) AS utilized_gpu_ms,
    toInt64(sum(idle_gpu_ms)) AS idle_gpu_ms
FROM report_run_gpu_hours
WHERE cluster = {cluster:String} AND job = {job:String}
