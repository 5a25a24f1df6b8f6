-- The log and where the fold stands in it.

CREATE TABLE IF NOT EXISTS events
(
    `topic` LowCardinality(String) COMMENT 'log topic',
    `partition` UInt32 COMMENT 'log partition',
    `offset` UInt64 COMMENT 'place of the record in its partition, from 0 without gaps',
    `index` UInt32 COMMENT 'place of the event inside a batched record, from 0',
    `cluster` LowCardinality(String) COMMENT 'cluster the event is about; empty for none',
    `source` LowCardinality(String) COMMENT 'CloudEvents source; empty where the bytes could not be read',
    `event_id` String COMMENT 'CloudEvents id; empty where the bytes could not be read',
    `type` LowCardinality(String) COMMENT 'CloudEvents type; empty where the bytes could not be read',
    `occurred_at` Nullable(DateTime64(6, 'UTC')) COMMENT 'when it happened, by its source',
    `recorded_at` DateTime64(6, 'UTC') COMMENT 'when it was appended to the log',
    `raw` String CODEC(ZSTD(1)) COMMENT 'the bytes as received, UTF-8 or not'
)
-- A restart and a replay read one partition from an offset on, so the place in the log is the key. The place also
-- makes a record written twice one record, while the same event sent twice keeps its two places.
ENGINE = ReplacingMergeTree
ORDER BY (topic, partition, offset, index)
-- Durable when the insert returns, and after the merge that rewrites it.
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Every event of the log, repeats included';

CREATE TABLE IF NOT EXISTS dead_letters
(
    `topic` LowCardinality(String) COMMENT 'log topic',
    `partition` UInt32 COMMENT 'log partition',
    `offset` UInt64 COMMENT 'place of the record in its partition',
    `index` UInt32 COMMENT 'place of the event inside a batched record',
    `cluster` LowCardinality(String) COMMENT 'cluster the event is about; empty for none or unreadable',
    `reason` LowCardinality(String) COMMENT 'why it was not taken, by name',
    `sentence` String COMMENT 'why, and what to do, for a person',
    `raw` String CODEC(ZSTD(1)) COMMENT 'the bytes as received, UTF-8 or not',
    `recorded_at` DateTime64(6, 'UTC') COMMENT 'when the record was appended to the log',
    `source` LowCardinality(String) COMMENT 'CloudEvents source, where readable',
    `event_id` String COMMENT 'CloudEvents id, where readable'
)
-- Found by its place, as in the log; a replay that gives another reason replaces the first.
ENGINE = ReplacingMergeTree
ORDER BY (topic, partition, offset, index)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Records that could not be read or were refused';

CREATE TABLE IF NOT EXISTS checkpoints
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster; empty for records of no cluster',
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
-- A restart wants one row per cluster: the one furthest into the log, and of equals the last written. The facts of
-- older ones are dropped by merges.
ENGINE = ReplacingMergeTree(events)
PARTITION BY generation
ORDER BY (generation, cluster)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'The state of each cluster''s fold and how far into the log it is true';

CREATE TABLE IF NOT EXISTS generations
(
    `generation` String COMMENT 'name of a replay of the log',
    `revision` UInt64 COMMENT 'the live generation is the one with the greatest revision'
)
-- A handful of rows, read whole.
ENGINE = MergeTree
ORDER BY revision
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Which generation the views show';
