-- Plans that enforcement would have made, as last played.

CREATE OR REPLACE VIEW report_what_if_plans AS
SELECT
    t.cluster AS cluster,
    t.since AS since,
    t.until AS until,
    t.policy AS policy,
    t.plan AS plan,
    t.pool AS pool,
    t.committed_at AS committed_at,
    t.job AS job,
    t.account AS account,
    t.gpus_milli AS gpus_milli,
    t.rule AS rule,
    t.lost_gpu_ms AS lost_gpu_ms,
    t.state AS state,
    t.victims AS victims,
    t.victim_accounts AS victim_accounts,
    t.victim_classes AS victim_classes,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM what_if_plans AS t FINAL
INNER JOIN
(
    SELECT cluster, since, until, policy, max(recorded_at) AS last_at
    FROM what_ifs FINAL
    GROUP BY cluster, since, until, policy
) AS l ON l.cluster = t.cluster AND l.since = t.since AND l.until = t.until AND l.policy = t.policy
WHERE t.recorded_at = l.last_at;
