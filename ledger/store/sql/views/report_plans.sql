-- Plans of the enforcer, carried out or only observed.

CREATE OR REPLACE VIEW report_plans AS
SELECT
    t.cluster AS cluster,
    t.plan AS plan,
    t.pool AS pool,
    t.purpose AS purpose,
    t.mode AS mode,
    t.state AS state,
    t.rule AS rule,
    t.job AS job,
    t.account AS account,
    t.pieces AS pieces,
    t.piece_milli AS piece_milli,
    t.min_runtime_s AS min_runtime_s,
    t.victims AS victims,
    t.freed_milli AS freed_milli,
    t.lost_gpu_ms AS lost_gpu_ms,
    t.host_nodes AS host_nodes,
    t.host_gpus_milli AS host_gpus_milli,
    t.sentences AS sentences,
    t.detail AS detail,
    t.grace_s AS grace_s,
    t.hold_s AS hold_s,
    t.made_seq AS made_seq,
    t.planned_at AS planned_at,
    t.committed_at AS committed_at,
    t.reaction_ms AS reaction_ms,
    t.held_at AS held_at,
    t.held_until AS held_until,
    t.handle AS handle,
    t.expired_at AS expired_at,
    t.wasted_gpu_ms AS wasted_gpu_ms,
    t.sentence AS sentence,
    t.seq AS seq,
    t.recorded_at AS recorded_at
FROM plans AS t FINAL
WHERE t.generation = (SELECT generation FROM live);
