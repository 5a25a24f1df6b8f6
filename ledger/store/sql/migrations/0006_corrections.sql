-- Events that changed hours already closed.

CREATE TABLE IF NOT EXISTS corrections
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `cause` FixedString(16) COMMENT 'cause of the postings and account hours it led to',
    `source` LowCardinality(String) COMMENT 'source of the event',
    `event_id` String COMMENT 'id of the event at its source',
    `type` LowCardinality(String) COMMENT 'type of the event',
    `subject` String COMMENT 'subject of the event, where it has one',
    `occurred_at` DateTime('UTC') COMMENT 'when it occurred',
    `since` DateTime('UTC') COMMENT 'start of the first hour it changed',
    `until` DateTime('UTC') COMMENT 'end of the last hour it changed',
    `moved_gpu_ms` Int64 COMMENT 'half the sum of the absolute amounts posted, GPU-milliseconds',
    `seq` UInt64 COMMENT 'number of the event among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A journal, read in order of seq; each event corrects at most once.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, seq)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Events that changed closed hours';
