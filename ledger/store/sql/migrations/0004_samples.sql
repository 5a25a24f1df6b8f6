-- What the GPUs did: samples, and their sums by run and closed hour.

CREATE TABLE IF NOT EXISTS gpu_samples
(
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `node` LowCardinality(String) COMMENT 'node',
    `gpu` UInt16 COMMENT 'GPU index on the node',
    `at` DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)) COMMENT 'start of the sampled interval',
    `interval_s` UInt32 CODEC(T64, ZSTD(1)) COMMENT 'its length, seconds',
    `utilization_pct` Float32 CODEC(Gorilla, ZSTD(1)) COMMENT 'mean GPU utilization, percent',
    `sm_active_pct` Nullable(Float32) CODEC(Gorilla, ZSTD(1)) COMMENT 'SM activity, percent; NULL where not sampled',
    `memory_used_mib` Nullable(Float32) CODEC(Gorilla, ZSTD(1)) COMMENT 'memory used, MiB; NULL where not sampled',
    `power_w` Nullable(Float32) CODEC(Gorilla, ZSTD(1)) COMMENT 'power, watts; NULL where not sampled',
    `xid` Nullable(Int32) CODEC(ZSTD(1)) COMMENT 'last XID error; NULL for none'
)
-- Summed hour by hour, so the hour comes first: an hour's sums read that hour and no more, and FINAL has nothing to
-- merge in what was inserted in the order of time. Within it GPU before time keeps each series together, which is what
-- makes the codecs pay. A sample sent twice is one sample. Weeks, because whole weeks are what expires: by call, not by
-- TTL, which goes by the host's clock and deletes an imported history while it is being inserted.
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(at)
ORDER BY (cluster, toStartOfHour(at), node, gpu, at)
COMMENT 'GPU samples, kept until they are expired';

CREATE TABLE IF NOT EXISTS run_gpu_hours
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log placed the runs',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `job` String COMMENT 'job',
    `attempt` String COMMENT 'attempt token',
    `node` LowCardinality(String) COMMENT 'node',
    `gpu` UInt16 COMMENT 'GPU index on the node',
    `exact` Bool COMMENT 'the source named the GPU; otherwise the node''s samples were spread evenly by placement',
    `sampled_gpu_ms` Float64 COMMENT 'GPU time of the run that samples cover, GPU-milliseconds',
    `utilized_gpu_ms` Float64 COMMENT 'of it, times utilization, GPU-milliseconds',
    `idle_gpu_ms` Float64 COMMENT 'of it, with utilization zero, GPU-milliseconds',
    `sm_sampled_gpu_ms` Float64 COMMENT 'GPU time that samples with SM activity cover, GPU-milliseconds',
    `sm_active_gpu_ms` Float64 COMMENT 'of it, times SM activity, GPU-milliseconds',
    `max_memory_used_mib` Nullable(Float32) COMMENT 'most memory used, MiB; NULL where not sampled',
    `energy_j` Nullable(Float64) COMMENT 'energy of the run''s part, joules; NULL where power was not sampled',
    `xids` Array(Int32) COMMENT 'XID errors seen, sorted',
    `rolled_at` DateTime('UTC') COMMENT 'as of when the sums were made',
    `gone` UInt8 COMMENT '1: an earlier sum that a later one no longer has'
)
-- Replaced as a whole hour at a time, so the hour stands before the run; the natural key makes a repeat harmless.
ENGINE = ReplacingMergeTree(rolled_at, gone)
PARTITION BY (generation, toYYYYMM(hour))
ORDER BY (generation, cluster, hour, job, attempt, node, gpu)
COMMENT 'Samples summed by run, GPU and closed hour';
