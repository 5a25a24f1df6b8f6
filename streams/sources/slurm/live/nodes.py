"""From records of nodes to the events that were not told yet. Pure: one pass over one poll."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ledger.events import ClusterEvent
from ledger.events.nodes import NodeObserved, NodeObservedData, NodeRemoved, NodeRemovedData
from ledger.units import instant
from streams.sources.config import SourceConfig
from streams.sources.identity import event_id
from streams.sources.slurm.live.cursor import Node
from streams.sources.slurm.nodes import MAX_REASON, NodeRecord, gpu_type, gpus_of, node_state, spelled
from streams.sources.text import visible

REMOVED_AFTER: Final = 2
"""So many lists in a row must leave a node out: one odd answer must not take a cluster's capacity away."""
_STAMP: Final = re.compile(r"\s*\[[^\[\]]*@[0-9T:-]+\]$")
"""Who set the reason, and when, as text tells and JSON does not."""


def stated(record: NodeRecord, config: SourceConfig) -> dict[str, Node | None]:
    """What the record says of each of its nodes; nothing of nodes without GPUs. Raises Refused, GresWrong.

    None for a node of which a controller that has just restarted has not heard yet: it is as it was. If it stays so,
    the controller will call it down.
    """
    found = gpus_of(record)
    if not found.milli:
        return {}
    words = set(spelled(record.words)) - {"UNKNOWN"}
    if not words and record.words:
        return {visible(name): None for name in record.names}
    reason = visible(_STAMP.sub("", record.reason))[:MAX_REASON]
    node = Node(node_state(words), reason, gpu_type(found, config), found.milli)
    return {visible(name): node for name in record.names}


def changes(
    known: Mapping[str, Node],
    now: Mapping[str, tuple[Node | None, int]],
    config: SourceConfig,
    polled_s: int,
    at_s: int,
) -> tuple[dict[str, Node], list[ClusterEvent]]:
    """The nodes as they are told then, and what is new: `now` has each node with the instant its reason was set.

    A node that turns away is dated by its reason, if that was set since the list before; anything else by the list.
    """
    nodes: dict[str, Node] = {}
    events: list[ClusterEvent] = []
    for name, (node, reason_s) in sorted(now.items()):
        before = known.get(name)
        if node is None:
            if before is not None:
                nodes[name] = replace(before, unseen=0)
            continue
        if before is None or replace(before, unseen=0) != node:
            by_reason = before is not None and node.state != "available" and polled_s < reason_s <= at_s
            events.append(_observed(name, node, config, reason_s if by_reason else at_s))
        nodes[name] = node
    for name, node in known.items():
        if name in now:
            continue
        unseen = node.unseen + 1
        if unseen >= REMOVED_AFTER:
            events.append(_removed(name, config, at_s))
        else:
            nodes[name] = replace(node, unseen=unseen)
    return nodes, events


def _observed(name: str, node: Node, config: SourceConfig, at_s: int) -> NodeObserved:
    data = NodeObservedData.model_validate(
        {
            "cluster": config.cluster,
            "node": name,
            "gpu_type": node.gpu_type,
            "gpus_milli": node.gpus_milli,
            "state": node.state,
            "reason": node.reason,
        }
    )
    time = instant(at_s)
    return NodeObserved(id=event_id("node", name, time, data), source=config.source_name, time=time, data=data)


def _removed(name: str, config: SourceConfig, at_s: int) -> NodeRemoved:
    data = NodeRemovedData(cluster=config.cluster, node=name)
    time = instant(at_s)
    return NodeRemoved(id=event_id("gone", name, time, data), source=config.source_name, time=time, data=data)
