-- What enforcement would have changed, figure by figure, as last played.

CREATE OR REPLACE VIEW report_what_ifs AS
SELECT
    t.cluster AS cluster,
    t.since AS since,
    t.until AS until,
    t.policy AS policy,
    t.side AS side,
    t.pool AS pool,
    t.account AS account,
    t.figure AS figure,
    t.subject AS subject,
    t.amount AS amount,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM what_ifs AS t FINAL
INNER JOIN
(
    SELECT cluster, since, until, policy, max(recorded_at) AS last_at
    FROM what_ifs FINAL
    GROUP BY cluster, since, until, policy
) AS l ON l.cluster = t.cluster AND l.since = t.since AND l.until = t.until AND l.policy = t.policy
WHERE t.recorded_at = l.last_at;
