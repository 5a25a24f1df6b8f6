-- Who is behind an account and what was asked for; joined when shown, never part of the fold.

CREATE TABLE IF NOT EXISTS accounts
(
    `account` String COMMENT 'account, by path',
    `title` String COMMENT 'name for people',
    `leads` Array(String) COMMENT 'who answers for it',
    `webhooks` Array(String) COMMENT 'whom to notify; not for readers',
    `labels` Map(String, String) COMMENT 'free labels',
    `closed` Bool COMMENT 'takes no further requests',
    `occurred_at` DateTime64(6, 'UTC') COMMENT 'when it was so stated; the latest statement holds'
)
-- One row per account: the latest statement.
ENGINE = ReplacingMergeTree(occurred_at)
ORDER BY account
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'The directory of accounts';

CREATE TABLE IF NOT EXISTS share_requests
(
    `request` String COMMENT 'request id, answered under the same id',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type; empty for every type',
    `account` String COMMENT 'account, by path',
    `share_percent` String COMMENT 'percent of the parent asked for, exact decimal text',
    `author` LowCardinality(String) COMMENT 'who asks',
    `reason` String COMMENT 'why',
    `occurred_at` DateTime64(6, 'UTC') COMMENT 'when it was asked; the latest statement holds'
)
-- One row per request: the latest statement.
ENGINE = ReplacingMergeTree(occurred_at)
ORDER BY request
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Requests for another share';
