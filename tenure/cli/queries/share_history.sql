-- Every accepted revision, a row per child, the latest first.
SELECT pool, parent, revision, child, account, share_percent, slot_limit_milli, effective_at, in_force, backdated, author,
    reason, recorded_at
FROM report_shares
WHERE cluster = {cluster:String} AND ({parent:String} = '' OR parent = {parent:String})
ORDER BY recorded_at DESC, seq DESC, child
