-- Every account's closed hours, ancestors as the sum of their leaves; `met` is summed leaf by leaf.

CREATE OR REPLACE VIEW report_account_rollup_hours AS
SELECT
    cluster,
    pool,
    arrayJoin(arrayMap(
        depth -> arrayStringConcat(arraySlice(splitByChar('/', h.account), 1, depth), '/'),
        arrayEnumerate(splitByChar('/', h.account))
    )) AS account,
    hour,
    sum(h.claim_gpu_ms) AS claim_gpu_ms,
    sum(h.grant_gpu_ms) AS grant_gpu_ms,
    sum(h.charged_gpu_ms) AS charged_gpu_ms,
    sum(h.refunded_gpu_ms) AS refunded_gpu_ms,
    sum(h.demand_gpu_ms) AS demand_gpu_ms,
    sum(h.owed_gpu_ms) AS owed_gpu_ms,
    sum(h.commitment_gpu_ms) AS commitment_gpu_ms,
    sum(h.unfunded_gpu_ms) AS unfunded_gpu_ms,
    sum(h.delivered_gpu_ms) AS delivered_gpu_ms,
    sum(h.met_gpu_ms) AS met_gpu_ms,
    count() AS leaves,
    max(h.seq) AS seq,
    max(h.recorded_at) AS recorded_at
FROM report_account_hours AS h
GROUP BY cluster, pool, account, hour;
