-- Maintenance windows that people and schedulers plan.

CREATE TABLE IF NOT EXISTS maintenance
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `window` String COMMENT 'window, by name',
    `nodes` Array(String) COMMENT 'nodes that are to be out of service',
    `since` DateTime('UTC') COMMENT 'from then on',
    `until` DateTime('UTC') COMMENT 'up to then, exclusive',
    `cancelled` Bool COMMENT 'taken back',
    `author` LowCardinality(String) COMMENT 'who decided',
    `reason` String COMMENT 'why',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- One row per window, the highest seq.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, window)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Maintenance windows as last planned';
