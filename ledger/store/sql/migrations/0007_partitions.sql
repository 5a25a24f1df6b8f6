-- Checkpoints by partition of the log: every partition has records of no cluster, and a writer of its own.

CREATE TABLE IF NOT EXISTS partition_checkpoints
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster; empty for records of the partition that belong to no cluster',
    `seq` UInt64 COMMENT 'fact-changing events of the cluster so far',
    `topic` LowCardinality(String) COMMENT 'log topic of the last record folded',
    `partition` UInt32 COMMENT 'its partition',
    `offset` UInt64 COMMENT 'its offset',
    `index` UInt32 COMMENT 'its place inside a batched record',
    `recorded_at` DateTime('UTC') COMMENT 'running maximum of recorded time',
    `ticked_at` DateTime('UTC') COMMENT 'the last tick',
    `closed_until` DateTime('UTC') COMMENT 'hours before this are closed',
    `events` UInt64 COMMENT 'log records of the cluster so far',
    `facts` String CODEC(NONE) COMMENT 'the state of the fold, encoded and compressed by its writer',
    `facts_hash` UInt128 COMMENT 'sum of the blake2b-128 of the canonical facts, modulo 2^128',
    `log_hash` UInt128 COMMENT 'sum of the blake2b-128 of the log records, modulo 2^128'
)
-- A restart wants one row per cluster of its partition: the one furthest into the log, and of equals the last written.
-- Further is told by the offset: of records of no cluster there may be as many at an earlier place, and a writer that
-- slept through its own replacement comes with that. The facts of older ones are dropped by merges.
ENGINE = ReplacingMergeTree(`offset`)
PARTITION BY generation
ORDER BY (generation, topic, `partition`, cluster)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'The state of each cluster''s fold and how far into the log it is true';

-- Only where an earlier attempt was stopped between the last two steps.
CREATE TABLE IF NOT EXISTS checkpoints AS partition_checkpoints;

INSERT INTO partition_checkpoints SELECT * FROM checkpoints;

DROP TABLE checkpoints;

CREATE TABLE IF NOT EXISTS log_homes
(
    `home` String COMMENT 'where the log is first written: `here`, or a Kafka cluster by its id'
)
-- One row, read whole.
ENGINE = ReplacingMergeTree
ORDER BY home
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Who gives out the places of the log: two would give the same place twice';
