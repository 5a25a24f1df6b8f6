-- Runs as now known. Replaced in place, so it reads on past the last checkpoint. A run that lasts is measured up to
-- its cluster's last tick; what only its end can tell is NULL until then (with `if`, as least() drops NULL).

CREATE OR REPLACE VIEW report_runs AS
SELECT
    r.cluster AS cluster,
    r.job AS job,
    r.attempt AS attempt,
    concat(r.job, '/', r.attempt) AS run,
    r.ordinal AS ordinal,
    r.user AS user,
    r.account AS account,
    r.ledger_account AS ledger_account,
    r.pool AS pool,
    r.kind AS kind,
    r.gang AS gang,
    r.gpus_milli AS gpus_milli,
    r.placed_nodes AS placed_nodes,
    r.placed_gpus_milli AS placed_gpus_milli,
    r.placed_gpu_indices AS placed_gpu_indices,
    r.submitted_at AS submitted_at,
    r.eligible_at AS eligible_at,
    r.started_at AS started_at,
    r.ended_at AS ended_at,
    r.outcome AS outcome,
    r.exit_code AS exit_code,
    r.min_runtime_s AS min_runtime_s,
    r.resumable AS resumable,
    r.priority AS priority,
    r.funded AS funded,
    r.funding_reason AS funding_reason,
    r.contract_end AS contract_end,
    r.checkpointed_at AS checkpointed_at,
    r.idle_since AS idle_since,
    r.flags AS flags,
    ifNull(r.eligible_at, r.submitted_at) AS waiting_from,
    if(isNull(waiting_from), NULL, greatest(0, dateDiff('second', waiting_from, r.started_at))) AS wait_s,
    dateDiff('second', r.started_at, greatest(ifNull(r.ended_at, s.ticked_at), r.started_at)) AS elapsed_s,
    r.suspended_s AS suspended_s,
    r.running_s AS running_s,
    arraySum(
        away -> greatest(
            0,
            least(away[2] - toUnixTimestamp(r.started_at), elapsed_s)
            - greatest(away[1] - toUnixTimestamp(r.started_at), 0)
        ),
        r.released
    ) AS released_s,
    r.gpus_milli * (elapsed_s - released_s) AS held_gpu_ms,
    if(r.funded, r.gpus_milli * r.running_s, 0) AS charged_gpu_ms,
    r.refunded_gpu_ms AS refunded_gpu_ms,
    charged_gpu_ms - refunded_gpu_ms AS delivered_gpu_ms,
    if(r.funded, r.gpus_milli * if(r.running_s > r.min_runtime_s, r.min_runtime_s, r.running_s), 0)
        AS protected_gpu_ms,
    charged_gpu_ms - protected_gpu_ms AS interruptible_gpu_ms,
    if(r.funded, 0, r.gpus_milli * r.running_s) AS unfunded_gpu_ms,
    multiIf(
        NOT r.funded, 'unfunded',
        ifNull(r.ended_at, s.ticked_at) < r.contract_end, 'protected',
        'interruptible'
    ) AS class,
    r.seq AS seq,
    r.recorded_at AS recorded_at
FROM runs AS r FINAL
LEFT JOIN settled AS s ON s.cluster = r.cluster
WHERE r.generation = (SELECT generation FROM live);
