-- Failures and repairs of nodes, from the node statements in the log. Parameters: metric_closed_hours.sql, and `node`.
--
-- A statement holds until the node's next one, and the last until the cluster's last tick; statements that were refused
-- do not count. An outage lasts from the end of `available` to the next one. It is a failure from its first `down` on,
-- unless that is the first that is known of the node, and it is repaired when the node is available again: a node
-- that is removed instead is not. Failures and repairs count in the bucket they fall in, whatever the other did; a
-- repair takes from the failure on, however long ago.
WITH
    told AS
    (
        SELECT
            e.cluster AS cluster,
            if(startsWith(e.raw, '['), JSONExtractRaw(e.raw, e.index + 1), e.raw) AS event,
            JSONExtractString(event, 'data', 'node') AS node,
            JSONExtractString(event, 'data', 'gpu_type') AS pool,
            multiIf(
                e.type = 'tenure.node.removed.v1', 'removed',
                JSONExtractInt(event, 'data', 'gpus_milli') = 0, 'removed',
                JSONExtractString(event, 'data', 'state')
            ) AS state,
            e.occurred_at AS occurred_at,
            toInt64(toUnixTimestamp(assumeNotNull(e.occurred_at))) AS at_s,
            e.source AS source,
            e.event_id AS event_id
        FROM events AS e FINAL
        WHERE e.type IN ('tenure.node.observed.v1', 'tenure.node.removed.v1')
            AND ({cluster:String} = '' OR e.cluster = {cluster:String})
            AND (e.topic, e.partition, e.offset, e.index) NOT IN
            (
                SELECT topic, `partition`, `offset`, `index` FROM dead_letters FINAL
            )
    ),
    stretches AS
    (
        SELECT
            t.cluster AS cluster,
            t.node AS node,
            t.pool AS pool,
            t.state AS state,
            t.at_s AS since_s,
            row_number() OVER in_order AS number,
            leadInFrame(t.at_s, 1, toInt64(toUnixTimestamp(s.ticked_at))) OVER in_order AS till_s,
            countIf(t.state IN ('available', 'removed')) OVER in_order_so_far AS outage
        FROM told AS t
        INNER JOIN settled AS s ON s.cluster = t.cluster
        WHERE t.at_s < toInt64(toUnixTimestamp(s.ticked_at)) AND ({node:String} = '' OR t.node = {node:String})
        WINDOW
            in_order AS
            (
                PARTITION BY t.cluster, t.node ORDER BY t.occurred_at, t.source, t.event_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ),
            in_order_so_far AS
            (
                PARTITION BY t.cluster, t.node ORDER BY t.occurred_at, t.source, t.event_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    up_hours AS
    (
        SELECT
            cluster,
            node,
            pool,
            arrayJoin(range(
                intDiv(greatest(since_s, {from_s:Int64}), 3600) * 3600, least(till_s, {until_s:Int64}), 3600
            )) AS at_s,
            least(till_s, at_s + 3600, {until_s:Int64}) - greatest(since_s, at_s, {from_s:Int64}) AS up_s
        FROM stretches
        WHERE state = 'available' AND till_s > {from_s:Int64} AND since_s < {until_s:Int64}
    ),
    outages AS
    (
        SELECT
            cluster,
            node,
            outage,
            argMinIf(pool, number, state = 'down') AS pool,
            minIf(since_s, state = 'down') AS failed_s,
            minIf(number, state = 'down') AS failed_number,
            max(till_s) AS over_s
        FROM stretches
        GROUP BY cluster, node, outage
        HAVING countIf(state = 'down') > 0 AND failed_number > 1
    ),
    repaired AS
    (
        SELECT o.cluster AS cluster, o.node AS node, o.pool AS pool, o.over_s AS at_s, o.over_s - o.failed_s AS repair_s
        FROM outages AS o
        INNER JOIN stretches AS s ON s.cluster = o.cluster AND s.node = o.node AND s.outage = o.outage + 1
        WHERE s.state = 'available'
    )
SELECT
    if({hourly:Bool}, intDiv(c.at_s, 3600) * 3600, roundDown(c.at_s, {edges:Array(Int64)})) AS bucket_s,
    if({by_cluster:Bool}, c.cluster, '') AS cluster,
    if({by_pool:Bool}, c.pool, '') AS pool,
    if({by_node:Bool}, c.node, '') AS node,
    sum(c.up_s) AS up_s,
    sum(c.failures) AS failures,
    sum(c.repairs) AS repairs,
    sum(c.repair_s) AS repair_s
FROM
(
    SELECT cluster, pool, node, at_s, up_s, toInt64(0) AS failures, toInt64(0) AS repairs, toInt64(0) AS repair_s
    FROM up_hours
    UNION ALL
    SELECT cluster, pool, node, failed_s, 0, 1, 0, 0 FROM outages
    UNION ALL
    SELECT cluster, pool, node, at_s, 0, 0, 1, repair_s FROM repaired
) AS c
WHERE c.at_s >= {from_s:Int64}
    AND c.at_s < {until_s:Int64}
    AND ({pool:String} = '' OR c.pool = {pool:String})
GROUP BY bucket_s, cluster, pool, node
ORDER BY cluster, pool, node, bucket_s
