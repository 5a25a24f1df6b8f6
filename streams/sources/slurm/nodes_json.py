"""`sinfo --json`, `scontrol show node --json` and slurmrestd's `/slurm/…/nodes`: nodes one by one or grouped."""

from __future__ import annotations

from collections.abc import Iterator

from streams.sources.config import SourceConfig
from streams.sources.reading import Reading, Refused
from streams.sources.slurm.json_rows import Answer, answer
from streams.sources.slurm.json_values import Fields
from streams.sources.slurm.nodes import NodePiece, NodeRecord, readings


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every element, and a dead letter for an error answer or a part that is broken."""
    found = answer(data)
    yield from readings(pieces(found), config, Fields(found.rest).instant("last_update"))
    yield from found.dead_letters()


def pieces(found: Answer) -> list[NodePiece]:
    """The record of every element, or why there is none."""
    return [(_record(element.value), element.place, element.raw) for element in found.rows]


def _record(value: object) -> NodeRecord | Refused:
    node = Fields.of(value)
    try:
        return _group(node) if "nodes" in node.members else _single(node)
    except Refused as refused:
        return refused


def _single(node: Fields) -> NodeRecord:
    name = node.text("name") or node.text("hostname")
    if not name:
        raise Refused("no_node_name", "the element has no name: it is no node")
    instants = ("reason_changed_at", "last_busy", "slurmd_start_time", "boot_time")
    return NodeRecord(
        names=(name,),
        words=(*node.words("state"), *node.words("state_flags")),
        gres=node.text("gres"),
        tres=node.text("tres"),
        reason=node.text("reason"),
        cluster=node.text("cluster_name"),
        latest_s=max(node.instant(at) or 0 for at in instants),
        booted_s=node.instant("boot_time") or 0,
        reason_s=node.instant("reason_changed_at") or 0,
    )


def _group(group: Fields) -> NodeRecord:
    names = [name for name in group.sub("nodes").array("nodes") if isinstance(name, str)]
    return NodeRecord(
        names=tuple(names),
        words=tuple(group.sub("node").words("state")),
        gres=group.sub("gres").text("total"),
        reason=group.sub("reason").text("description"),
        cluster=group.text("cluster"),
        latest_s=group.sub("reason").instant("time") or 0,
        reason_s=group.sub("reason").instant("time") or 0,
    )
