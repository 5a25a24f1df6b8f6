"""Nodes as they must have been before anybody stated them: on the word of a later list, or of what ran on them. Pure.

A job history without a node list says where runs lay; a node list says what is there when it is taken. Neither says
what was there before, and without capacity nobody has a claim. So it is assumed, said to be, and taken back in favour
of the first real statement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ledger.events.nodes import NodeObserved, NodeObservedData
from ledger.state import State
from ledger.statements import NodeStatement
from ledger.units import GPU_MILLI, epoch_s, instant
from streams.sources.config import DEFAULT_GPU_TYPE, ClusterConfig
from streams.sources.history import ClusterHistory
from streams.sources.identity import event_id

INFERRED: Final = "inferred from placements: the most GPUs ever in use at once"
REMOVED: Final = "removed"


class Use(NamedTuple):
    """What ran on a node: since when, the most at once, on what type of GPU."""

    since_s: int
    peak_milli: int
    gpu_type: str


class Stated(NamedTuple):
    """A node as it was first really stated."""

    at_s: int
    gpus_milli: int
    gpu_type: str


@dataclass(frozen=True, slots=True)
class Ground:
    """What assumptions stand on: the import, and the book it goes into.

    `opens_s` is where the book opens and `begins_s` where the import begins, if it tells of any job. They are the same
    unless the book is `open` already.
    """

    config: ClusterConfig
    history: ClusterHistory
    book: State | None
    open: bool
    opens_s: int
    begins_s: int | None


def assumed_nodes(ground: Ground, declared: Collection[str]) -> list[NodeObserved]:
    """Statements of nodes for the time before anybody stated them, as far as the book does not have them.

    What the book has assumed of a node is assumed anew, at the same instant and a microsecond later, where the node
    shows larger now or is really stated for the first time: so several imports come to what one of all files does.
    """
    used = _used(ground)
    names = (used.keys() | ground.history.listed.keys()) - set(declared)
    return [event for name in sorted(names) if (event := _assumed(ground, name, used.get(name))) is not None]


def _assumed(ground: Ground, name: str, use: Use | None) -> NodeObserved | None:
    known = _known(ground.book, name)
    taken = [s for s in known if s.assumed]
    real = [Stated(s.at_s, s.gpus_milli, s.gpu_type) for s in known if not s.assumed and s.state != REMOVED]
    if taken and real:
        return None
    told = sorted([*real, *_listed(ground.history, name)])
    if told:
        return _as_stated(ground, name, use, told[0], taken, in_book=bool(real))
    if use is None or name in ground.history.stated:
        return None
    return _as_used(ground, name, use, taken)


def _as_stated(
    ground: Ground, name: str, use: Use | None, first: Stated, taken: list[NodeStatement], *, in_book: bool
) -> NodeObserved | None:
    """What is first stated of a node holds for the time before, too."""
    if taken:
        since_s: int | None = taken[0].at_s
    elif in_book and ground.open:  # the book was there when the node came
        since_s = max(ground.opens_s, use.since_s) if use is not None else None
    else:
        since_s = _since_s(ground, name, use)
    if since_s is None or since_s >= first.at_s:
        return None
    if taken and (taken[-1].gpus_milli, taken[-1].gpu_type) == (first.gpus_milli, first.gpu_type):
        return None
    why = f"as first stated at {instant(first.at_s):%Y-%m-%d %H:%M} UTC"
    at = _after(taken, since_s)
    return node_statement(ground.config, at, name, first.gpu_type, first.gpus_milli, why, assumed=True)


def _as_used(ground: Ground, name: str, use: Use, taken: list[NodeStatement]) -> NodeObserved | None:
    """A node nobody ever stated is as large as what ran on it at once, from the book's opening on."""
    if taken and use.peak_milli <= taken[-1].gpus_milli:
        return None
    kind = taken[-1].gpu_type if taken else use.gpu_type
    at = _after(taken, ground.opens_s)
    return node_statement(ground.config, at, name, kind, use.peak_milli, INFERRED, assumed=True)


def _known(book: State | None, name: str) -> list[NodeStatement]:
    node = book.nodes.get(name) if book is not None else None
    return node.statements if node is not None else []


def _listed(history: ClusterHistory, name: str) -> list[Stated]:
    event = history.listed.get(name)
    return [] if event is None else [Stated(epoch_s(event.time), event.data.gpus_milli, event.data.gpu_type)]


def _since_s(ground: Ground, name: str, use: Use | None) -> int | None:
    """Since the import begins; if the node booted later, since it did, or since something ran on it before that."""
    listed = ground.history.listed.get(name)
    booted_at = listed.data.booted_at if listed is not None else None
    if ground.begins_s is None or booted_at is None:
        return ground.begins_s
    there_s = epoch_s(booted_at) if use is None else min(epoch_s(booted_at), use.since_s)
    return max(ground.begins_s, there_s)


def _after(taken: list[NodeStatement], at_s: int) -> datetime:
    """The instant itself, or a microsecond after what is assumed already: the greater stamp holds."""
    if not taken:
        return instant(at_s)
    return instant(taken[-1].at_s) + timedelta(microseconds=taken[-1].time_us % 1_000_000 + 1)


def node_statement(
    config: ClusterConfig,
    at: datetime,
    name: str,
    gpu_type: str,
    milli: int,
    reason: str,
    *,
    assumed: bool = False,
) -> NodeObserved:
    """An available node, on the configuration's word or on none."""
    data = NodeObservedData(
        cluster=config.cluster,
        node=name,
        gpu_type=gpu_type,
        gpus_milli=milli,
        state="available",
        reason=reason,
        assumed=assumed,
    )
    return NodeObserved(id=event_id("node", name, at, data), source=config.source_name, time=at, data=data)


def _used(ground: Ground) -> dict[str, Use]:
    """By node, what runs of the import held there."""
    config = ground.config
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for event in ground.history.runs.values():
        start_s, end_s = epoch_s(event.data.started_at), epoch_s(event.data.ended_at or event.time)
        for placement in event.data.placements:
            changes[placement.node] += [(start_s, placement.gpus_milli), (end_s, -placement.gpus_milli)]
            types[placement.node][event.data.gpu_type or config.gpu_type or DEFAULT_GPU_TYPE] += 1
    return {
        name: Use(min(at for at, _ in found), peak_milli(found), types[name].most_common(1)[0][0])
        for name, found in changes.items()
    }


def peak_milli(changes: list[tuple[int, int]]) -> int:
    """The most in use at once, up to whole GPUs. What ends at an instant makes room for what starts at it."""
    peak = now = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    return -(-peak // GPU_MILLI) * GPU_MILLI
