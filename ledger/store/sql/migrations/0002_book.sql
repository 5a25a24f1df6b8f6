-- The two books and what is derived from them, by hour. Amounts are integers of GPU-milliseconds.

CREATE TABLE IF NOT EXISTS postings
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `book` LowCardinality(String) COMMENT 'capacity or budget',
    `account` LowCardinality(String) COMMENT 'ledger account of the leg',
    `class` LowCardinality(String) COMMENT 'class of the leg, where it has one',
    `kind` LowCardinality(String) COMMENT 'occupancy, claim, grant, charge, refund and the like',
    `node` LowCardinality(String) COMMENT 'node, in the capacity book',
    `run` String COMMENT 'run, where the leg has one',
    `cause` FixedString(16) COMMENT '128-bit hash of the event behind it, or of the hour''s close',
    `amount_gpu_ms` Int64 COMMENT 'signed amount, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- Reports ask for hours of a pool of a cluster; the rest of the key tells the legs of one hour apart. The cause is in
-- it so that a correction stands beside what it corrects, and a leg written again after a crash is one leg.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY (generation, toYYYYMM(hour))
ORDER BY (generation, cluster, pool, hour, book, account, class, kind, node, run, cause)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Legs of balanced transactions; append-only';

CREATE TABLE IF NOT EXISTS account_hours
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `account` LowCardinality(String) COMMENT 'leaf account, by path',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `cause` FixedString(16) COMMENT '128-bit hash of the event behind it, or of the hour''s close',
    `claim_gpu_ms` Int64 COMMENT 'claim by shares, GPU-milliseconds',
    `grant_gpu_ms` Int64 COMMENT 'claim by grants, GPU-milliseconds',
    `charged_gpu_ms` Int64 COMMENT 'occupied by funded runs, GPU-milliseconds',
    `refunded_gpu_ms` Int64 COMMENT 'charges given back, GPU-milliseconds',
    `demand_gpu_ms` Int64 COMMENT 'demand, GPU-milliseconds',
    `owed_gpu_ms` Int64 COMMENT 'min(claim + grant, demand), GPU-milliseconds',
    `commitment_gpu_ms` Int64 COMMENT 'still bound by running contracts at the hour''s end, GPU-milliseconds',
    `unfunded_gpu_ms` Int64 COMMENT 'occupied by unfunded runs that asked for the account, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A statement reads one account over hours. The cause in the key keeps every version, so that an hour can be read as
-- it was known at an earlier time.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY (generation, toYYYYMM(hour))
ORDER BY (generation, cluster, pool, account, hour, cause)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Versions of a leaf account''s closed hours; append-only';

CREATE TABLE IF NOT EXISTS cluster_hours
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `cause` FixedString(16) COMMENT '128-bit hash of the event behind it, or of the hour''s close',
    `capacity_gpu_ms` Int64 COMMENT 'capacity, GPU-milliseconds',
    `overbooked_gpu_ms` Int64 COMMENT 'occupied beyond capacity, GPU-milliseconds',
    `unfunded_gpu_ms` Int64 COMMENT 'occupied by unfunded runs, GPU-milliseconds',
    `protected_gpu_ms` Int64 COMMENT 'occupied by funded runs before their contract end, GPU-milliseconds',
    `interruptible_gpu_ms` Int64 COMMENT 'occupied by funded runs after their contract end, GPU-milliseconds',
    `suspended_gpu_ms` Int64 COMMENT 'held by suspended runs, GPU-milliseconds',
    `idle_gpu_ms` Int64 COMMENT 'healthy and not occupied, GPU-milliseconds',
    `unavailable_planned_gpu_ms` Int64 COMMENT 'planned down, GPU-milliseconds',
    `unavailable_unplanned_gpu_ms` Int64 COMMENT 'down unplanned, GPU-milliseconds',
    `claimed_gpu_ms` Int64 COMMENT 'sum of the claims of all accounts, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- Hours of one pool, read in order; the cause in the key keeps every version.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY (generation, toYYYYMM(hour))
ORDER BY (generation, cluster, pool, hour, cause)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Versions of a pool''s closed hours; append-only';

CREATE TABLE IF NOT EXISTS node_hours
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `node` LowCardinality(String) COMMENT 'node',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `capacity_gpu_ms` Int64 COMMENT 'capacity, GPU-milliseconds',
    `overbooked_gpu_ms` Int64 COMMENT 'occupied beyond capacity, GPU-milliseconds',
    `unfunded_gpu_ms` Int64 COMMENT 'occupied by unfunded runs, GPU-milliseconds',
    `protected_gpu_ms` Int64 COMMENT 'occupied by funded runs before their contract end, GPU-milliseconds',
    `interruptible_gpu_ms` Int64 COMMENT 'occupied by funded runs after their contract end, GPU-milliseconds',
    `suspended_gpu_ms` Int64 COMMENT 'held by suspended runs, GPU-milliseconds',
    `idle_gpu_ms` Int64 COMMENT 'healthy and not occupied, GPU-milliseconds',
    `unavailable_planned_gpu_ms` Int64 COMMENT 'planned down, GPU-milliseconds',
    `unavailable_unplanned_gpu_ms` Int64 COMMENT 'down unplanned, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- One row per node and hour, the highest seq: a node's history is read in order of hours.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY (generation, toYYYYMM(hour))
ORDER BY (generation, cluster, pool, node, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'A node''s closed hours as now known';

CREATE TABLE IF NOT EXISTS open_hours
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `account` LowCardinality(String) COMMENT 'leaf account, by path',
    `hour` DateTime('UTC') COMMENT 'start of the UTC hour',
    `until` DateTime('UTC') COMMENT 'true up to here',
    `claim_gpu_ms` Int64 COMMENT 'claim by shares, GPU-milliseconds',
    `grant_gpu_ms` Int64 COMMENT 'claim by grants, GPU-milliseconds',
    `charged_gpu_ms` Int64 COMMENT 'occupied by funded runs, GPU-milliseconds',
    `refunded_gpu_ms` Int64 COMMENT 'charges given back, GPU-milliseconds',
    `demand_gpu_ms` Int64 COMMENT 'demand, GPU-milliseconds',
    `owed_gpu_ms` Int64 COMMENT 'min(claim + grant, demand), GPU-milliseconds',
    `commitment_gpu_ms` Int64 COMMENT 'still bound by running contracts at the hour''s end, GPU-milliseconds',
    `unfunded_gpu_ms` Int64 COMMENT 'occupied by unfunded runs that asked for the account, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- Replaced at each tick, so only the natural key; few rows, hence no months.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, pool, account, hour)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Hours not closed yet, provisional; stale where seq is below the cluster''s last tick';
