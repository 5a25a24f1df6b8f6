-- Accepted revisions of shares, one row per child.

CREATE OR REPLACE VIEW report_shares AS
SELECT
    t.cluster AS cluster,
    t.pool AS pool,
    t.parent AS parent,
    t.revision AS revision,
    t.child AS child,
    concat(t.parent, '/', t.child) AS account,
    toDecimal64(t.share_percent, 6) AS share_percent,
    t.slot_limit_milli AS slot_limit_milli,
    t.effective_at AS effective_at,
    toBool(
        t.revision = maxIf(t.revision, t.effective_at <= s.ticked_at)
            OVER (PARTITION BY t.cluster, t.pool, t.parent)
    ) AS in_force,
    t.backdated AS backdated,
    t.author AS author,
    t.reason AS reason,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM shares AS t FINAL
INNER JOIN settled AS s ON s.cluster = t.cluster
WHERE t.generation = (SELECT generation FROM live) AND t.seq <= s.settled_seq;
