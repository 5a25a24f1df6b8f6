-- What enforcement would have changed: a past played twice, kept beside the book. Not of any generation: no log has it.

CREATE TABLE IF NOT EXISTS what_ifs
(
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `since` DateTime('UTC') COMMENT 'beginning of the span, a whole hour',
    `until` DateTime('UTC') COMMENT 'its end, exclusive',
    `policy` String COMMENT 'under what it was played',
    `side` LowCardinality(String) COMMENT 'recorded, without (enforcement) or with',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type; empty where a figure is of all',
    `account` LowCardinality(String) COMMENT 'ledger account; empty where a figure is not of one',
    `figure` LowCardinality(String) COMMENT 'what it is, its unit at its end',
    `subject` LowCardinality(String) COMMENT 'class of jobs, or cause; empty for none',
    `amount` Int64 COMMENT 'how much',
    `seq` UInt64 COMMENT 'number of fact-changing events it was made of',
    `recorded_at` DateTime64(6, 'UTC') COMMENT 'when it was played; of a span the last play counts'
)
-- One row per figure, the last; of a span, rows of an earlier play than its last no longer count.
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY (cluster, since, until, policy, side, pool, account, figure, subject)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Figures of a past as recorded, and as played without and with enforcement';

CREATE TABLE IF NOT EXISTS what_if_plans
(
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `since` DateTime('UTC') COMMENT 'beginning of the span, a whole hour',
    `until` DateTime('UTC') COMMENT 'its end, exclusive',
    `policy` String COMMENT 'under what it was played',
    `plan` String COMMENT 'plan, by name',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `committed_at` DateTime('UTC') COMMENT 'when it would have been decided',
    `job` String COMMENT 'job it makes room for; empty for a drain',
    `account` LowCardinality(String) COMMENT 'ledger account of that job',
    `gpus_milli` Int64 COMMENT 'GPUs it asks for, milli-GPUs',
    `rule` LowCardinality(String) COMMENT 'rule that opens the last class of its victims',
    `lost_gpu_ms` Int64 COMMENT 'what they would lose, GPU-milliseconds',
    `state` LowCardinality(String) COMMENT 'open, or why it is over',
    `victims` Array(String) COMMENT 'runs it names: job/attempt',
    `victim_accounts` Array(String) COMMENT 'their ledger accounts, empty where no budget pays; parallel',
    `victim_classes` Array(String) COMMENT 'their protection: unfunded, over or within; parallel',
    `seq` UInt64 COMMENT 'number of fact-changing events it was made of',
    `recorded_at` DateTime64(6, 'UTC') COMMENT 'when it was played; of a span the last play counts'
)
-- One row per plan, the last, as above.
ENGINE = ReplacingMergeTree(recorded_at)
ORDER BY (cluster, since, until, policy, plan)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Plans that enforcement would have made';
