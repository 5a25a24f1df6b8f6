-- Runs, jobs and what people decided, as now known.

CREATE TABLE IF NOT EXISTS runs
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `job` String COMMENT 'job',
    `attempt` String COMMENT 'attempt token, as its source names it',
    `ordinal` UInt32 COMMENT 'attempts of the job so far, for display',
    `user` LowCardinality(String) COMMENT 'user',
    `account` LowCardinality(String) COMMENT 'account asked for',
    `ledger_account` LowCardinality(String) COMMENT 'account it is booked on; empty when unfunded',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `kind` LowCardinality(String) COMMENT 'batch, session or debug',
    `gang` String COMMENT 'gang id; empty for none',
    `gpus_milli` Int64 COMMENT 'GPUs held, milli-GPUs',
    `placed_nodes` Array(LowCardinality(String)) COMMENT 'nodes, parallel to the next two',
    `placed_gpus_milli` Array(Int64) COMMENT 'GPUs held on each node, milli-GPUs',
    `placed_gpu_indices` Array(Array(UInt16)) COMMENT 'GPU indices on each node; empty where unknown',
    `submitted_at` Nullable(DateTime('UTC')) COMMENT 'submitted',
    `eligible_at` Nullable(DateTime('UTC')) COMMENT 'could start from',
    `started_at` DateTime('UTC') COMMENT 'started',
    `ended_at` Nullable(DateTime('UTC')) COMMENT 'ended; NULL while it runs',
    `outcome` LowCardinality(String) COMMENT 'how it ended; empty while it runs',
    `exit_code` Nullable(Int32) COMMENT 'exit code, where reported',
    `min_runtime_s` UInt32 COMMENT 'minimum runtime, seconds',
    `resumable` Bool COMMENT 'can be resumed after preemption',
    `priority` Int64 COMMENT 'priority its scheduler gave it',
    `funded` Bool COMMENT 'funded for the whole run',
    `funding_reason` LowCardinality(String) COMMENT 'why funded or not, by name',
    `contract_end` Nullable(DateTime('UTC')) COMMENT 'protected until; NULL when unfunded',
    `suspended_s` Nullable(UInt32) COMMENT 'suspended time, seconds; NULL while it runs',
    `running_s` Nullable(UInt32) COMMENT 'running time, seconds; NULL while it runs',
    `checkpointed_at` Nullable(DateTime('UTC')) COMMENT 'last checkpoint known',
    `refunded_gpu_ms` Int64 COMMENT 'charges given back, GPU-milliseconds',
    `idle_since` Nullable(DateTime('UTC')) COMMENT 'all samples zero since',
    `flags` Array(LowCardinality(String)) COMMENT 'doubts about the record, by name',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A run is found by its job; one row each, the highest seq. No months: a run belongs to many hours, and a start that
-- is corrected must replace the row it corrects.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, job, attempt)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Attempts of jobs on GPUs as now known';

CREATE TABLE IF NOT EXISTS jobs
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `job` String COMMENT 'job',
    `user` LowCardinality(String) COMMENT 'user',
    `account` LowCardinality(String) COMMENT 'account asked for',
    `kind` LowCardinality(String) COMMENT 'batch, session or debug',
    `gang` String COMMENT 'gang id; empty for none',
    `gpus_milli` Int64 COMMENT 'GPUs asked for, milli-GPUs',
    `gpu_type` LowCardinality(String) COMMENT 'GPU type asked for; empty for any',
    `shape_nodes` UInt32 COMMENT 'nodes asked for; 0 for any placement',
    `shape_gpus_milli` Int64 COMMENT 'GPUs per node asked for, milli-GPUs',
    `min_runtime_s` UInt32 COMMENT 'minimum runtime, seconds',
    `resumable` Bool COMMENT 'can be resumed after preemption',
    `priority` Int64 COMMENT 'priority its scheduler gave it',
    `submitted_at` Nullable(DateTime('UTC')) COMMENT 'submitted',
    `eligible_from` Nullable(DateTime('UTC')) COMMENT 'not to start before',
    `state` LowCardinality(String) COMMENT 'pending, held, running or ended',
    `attempts` UInt32 COMMENT 'runs so far',
    `ended_at` Nullable(DateTime('UTC')) COMMENT 'ended; NULL before',
    `outcome` LowCardinality(String) COMMENT 'how it ended; empty before',
    `waited_s` UInt32 COMMENT 'time it could have started and had not, seconds',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A job is found by its name; one row each, the highest seq.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, job)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Jobs as now known';

CREATE TABLE IF NOT EXISTS shares
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type; empty for every type',
    `parent` LowCardinality(String) COMMENT 'account whose claim is divided',
    `revision` UInt32 COMMENT 'revision of this parent''s shares, from 1',
    `child` LowCardinality(String) COMMENT 'child, last segment of its path',
    `share_percent` String COMMENT 'percent of the parent''s claim, exact decimal text',
    `slot_limit_milli` Nullable(Int64) COMMENT 'most funded GPUs at once, milli-GPUs; NULL for no limit',
    `effective_at` DateTime('UTC') COMMENT 'in force from',
    `backdated` Bool COMMENT 'in force before it was recorded, on purpose',
    `author` LowCardinality(String) COMMENT 'who decided',
    `reason` String COMMENT 'why',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- The history of one parent is read in order of revisions, each a whole set of children.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, pool, parent, revision, child)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Accepted revisions of shares, one row per child';

CREATE TABLE IF NOT EXISTS grants
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `pool` LowCardinality(String) COMMENT 'budget pool: GPU type',
    `account` LowCardinality(String) COMMENT 'account, by path',
    `grant` String COMMENT 'grant id',
    `amount_gpu_ms` Int64 COMMENT 'granted, accruing evenly, GPU-milliseconds',
    `since` DateTime('UTC') COMMENT 'accrues from',
    `until` DateTime('UTC') COMMENT 'accrues up to, exclusive',
    `author` LowCardinality(String) COMMENT 'who decided',
    `reason` String COMMENT 'why',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- Grants are read per account; the id tells two grants of one account apart.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, pool, account, grant, seq)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'Accepted grants';

CREATE TABLE IF NOT EXISTS decisions
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `kind` LowCardinality(String) COMMENT 'share decision, policy change or reassignment',
    `subject` String COMMENT 'what it is about',
    `detail` String COMMENT 'what was decided',
    `author` LowCardinality(String) COMMENT 'who decided',
    `reason` String COMMENT 'why',
    `occurred_at` DateTime('UTC') COMMENT 'when it was decided',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A journal, read in order of seq; kind and subject for an event that decides twice.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, seq, kind, subject)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'What people decided, as taken';

CREATE TABLE IF NOT EXISTS remarks
(
    `generation` LowCardinality(String) COMMENT 'which replay of the log wrote it',
    `cluster` LowCardinality(String) COMMENT 'cluster',
    `seq` UInt64 COMMENT 'number of the event behind it among the cluster''s fact-changing events',
    `name` LowCardinality(String) COMMENT 'outcome, by name',
    `subject` String COMMENT 'what it is about',
    `sentence` String COMMENT 'what to look at, for a person',
    `source` LowCardinality(String) COMMENT 'CloudEvents source',
    `event_id` String COMMENT 'CloudEvents id',
    `recorded_at` DateTime('UTC') COMMENT 'when it was recorded: running maximum of the cluster'
)
-- A journal, read in order of seq; one event may leave several remarks, and events that change nothing share a seq,
-- so the event's id is in the key.
ENGINE = ReplacingMergeTree(seq)
PARTITION BY generation
ORDER BY (generation, cluster, seq, name, subject, source, event_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
COMMENT 'What an accepted event said that a person should look at';
