-- GPU time lost, by the hour it was lost in: work not banked when a run was preempted, failed, lost its node or was
-- requeued, and room held for an asker that did not come. How much of a pause lies after the last checkpoint is not
-- stored: then the time since the checkpoint counts whole, though never more than ran, as in the metrics of goodput.

CREATE OR REPLACE VIEW report_losses AS
SELECT
    r.cluster AS cluster,
    r.pool AS pool,
    toString(if(r.funded, r.ledger_account, r.account)) AS account,
    multiIf(
        r.outcome = 'preempted', 'preemption',
        r.outcome = 'node_failure', 'node_failure',
        r.outcome = 'requeued', 'requeue',
        'job_failure'
    ) AS cause,
    multiIf(
        NOT r.resumable, 'not_resumable',
        isNotNull(r.checkpointed_at) AND r.checkpointed_at > r.started_at, 'checkpoint',
        'no_checkpoint'
    ) AS basis,
    toStartOfHour(assumeNotNull(r.ended_at)) AS hour,
    toUInt64(count()) AS times,
    toInt64(sum(
        r.gpus_milli * if(
            basis = 'checkpoint',
            least(
                toInt64(ifNull(r.running_s, 0)),
                dateDiff('second', assumeNotNull(r.checkpointed_at), assumeNotNull(r.ended_at))
            ),
            toInt64(ifNull(r.running_s, 0))
        )
    )) AS lost_gpu_ms
FROM runs AS r FINAL
WHERE r.generation = (SELECT generation FROM live)
    AND isNotNull(r.ended_at)
    AND r.outcome IN ('preempted', 'node_failure', 'failed', 'out_of_memory', 'requeued')
GROUP BY cluster, pool, account, cause, basis, hour
UNION ALL
SELECT
    p.cluster AS cluster,
    p.pool AS pool,
    toString(p.account) AS account,
    'wasted_hold' AS cause,
    'hold' AS basis,
    toStartOfHour(assumeNotNull(p.expired_at)) AS hour,
    toUInt64(count()) AS times,
    toInt64(sum(p.wasted_gpu_ms)) AS lost_gpu_ms
FROM plans AS p FINAL
WHERE p.generation = (SELECT generation FROM live)
    AND isNotNull(p.expired_at)
    AND p.wasted_gpu_ms > 0
GROUP BY cluster, pool, account, cause, basis, hour;
