-- What the enforcer decided and did: plans, and the runs they name.

CREATE TABLE IF NOT EXISTS plans
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `plan` String COMMENT 'plan, by name',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `purpose` LowCardinality(String) COMMENT 'asker or drain',
    `mode` LowCardinality(String) COMMENT 'observe or enforce',
    `state` LowCardinality(String) COMMENT 'open, or why it is over',
    `rule` LowCardinality(String) COMMENT 'rule that opens the last class of its victims',
    `job` String COMMENT 'job it makes room for; empty for a drain',
    `account` LowCardinality(String) COMMENT 'ledger account of that job',
    `pieces` UInt32 COMMENT 'pieces it asks for',
    `piece_milli` Int64 COMMENT 'milli-GPUs of a piece',
    `min_runtime_s` UInt32 COMMENT 'its minimum runtime, seconds',
    `victims` UInt32 COMMENT 'runs it names',
    `freed_milli` Int64 COMMENT 'what they hold, milli-GPUs',
    `lost_gpu_ms` Int64 COMMENT 'what they would lose, GPU-milliseconds',
    `host_nodes` Array(String) COMMENT 'nodes the job then fits on',
    `host_gpus_milli` Array(Int64) COMMENT 'milli-GPUs on each',
    `sentences` Array(String) COMMENT 'the plan in words',
    `detail` String COMMENT 'ratios, windows, objective, alternatives: JSON',
    `grace_s` UInt32 COMMENT 'time runs have to leave, seconds',
    `hold_s` UInt32 COMMENT 'time room is kept, seconds',
    `made_seq` UInt64 COMMENT 'number of fact-changing events it was made after',
    `planned_at` DateTime('UTC') COMMENT 'instant of those facts',
    `committed_at` DateTime('UTC') COMMENT 'when it was decided',
    `held_at` Nullable(DateTime('UTC')) COMMENT 'room was held; NULL before',
    `held_until` Nullable(DateTime('UTC')) COMMENT 'room is held until; NULL before',
    `handle` String COMMENT 'the scheduler''s name of the hold',
    `expired_at` Nullable(DateTime('UTC')) COMMENT 'it was over; NULL before',
    `wasted_gpu_ms` Int64 COMMENT 'held for nothing, GPU-milliseconds',
    `sentence` String COMMENT 'why it is over, in words',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- One row per plan, the highest seq.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, plan)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Plans of the enforcer as now known';

CREATE TABLE IF NOT EXISTS preemptions
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `plan` String COMMENT 'plan that names the run',
    `job` String COMMENT 'job',
    `attempt` String COMMENT 'attempt token',
    `mode` LowCardinality(String) COMMENT 'observe or enforce',
    `account` LowCardinality(String) COMMENT 'ledger account of the run; empty where no budget pays',
    `class` LowCardinality(String) COMMENT 'its protection: unfunded, over, within or contract',
    `rule` LowCardinality(String) COMMENT 'rule that lets it be taken from',
    `gpus_milli` Int64 COMMENT 'what it holds, milli-GPUs',
    `lost_gpu_ms` Int64 COMMENT 'what it would lose as planned, GPU-milliseconds',
    `resumable` Bool COMMENT 'can be resumed',
    `how` LowCardinality(String) COMMENT 'requeue or cancel; empty before the order',
    `grace_s` UInt32 COMMENT 'time it has to leave, seconds',
    `issued_at` Nullable(DateTime('UTC')) COMMENT 'ordered off; NULL where it was not',
    `settled_at` Nullable(DateTime('UTC')) COMMENT 'the order came to its end; NULL before',
    `outcome` LowCardinality(String) COMMENT 'what came of the order; empty before',
    `sentence` String COMMENT 'the same in words',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- One row per plan and run, the highest seq.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, plan, job, attempt)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Runs that plans name, and what came of it';
