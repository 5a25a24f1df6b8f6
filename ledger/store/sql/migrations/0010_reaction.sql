-- How long a plan took from when it could have been made.

ALTER TABLE plans
    ADD COLUMN IF NOT EXISTS `reaction_ms` Nullable(Int64)
    COMMENT 'from when it could have been decided until it was, milliseconds; NULL where nobody said'
    AFTER `committed_at`;
