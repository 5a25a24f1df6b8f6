"""What the fold keeps of events: compact statements, each led by its stamp, and the one rule that orders them.

A statement is a plain tuple of text, integers and tuples, so that it is its own canonical record: equal statements
are equal tuples, and a checkpoint is their JSON.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeVar

from ledger.events import (
    GpuIdleObserved,
    JobEnded,
    JobResumed,
    JobStarted,
    JobSubmitted,
    JobSuspended,
    JobUpdated,
    NodeObserved,
    NodeRemoved,
    RunObserved,
)
from ledger.events.jobs import Placement
from ledger.units import epoch_s

Placed = tuple[str, int, tuple[int, ...]]
"""(node, milli-GPUs, GPU indices if known)."""


class Terms(NamedTuple):
    """What a job asks for and under which contract."""

    user: str = ""
    account: str = ""
    gpus_milli: int = 0
    shape_nodes: int = 0
    shape_gpus_milli: int = 0
    gpu_type: str = ""
    min_runtime_s: int = 0
    resumable: bool = False
    priority: int = 0
    kind: str = "batch"
    gang: str = ""
    time_limit_s: int | None = None
    eligible_from_s: int | None = None
    held: bool = False


class NodeStatement(NamedTuple):
    """`state` is a node state or `removed`; `assumed` if nobody saw it so."""

    time_us: int
    source: str
    id: str
    at_s: int
    state: str
    gpus_milli: int
    gpu_type: str
    reason: str
    assumed: bool = False


class Submitted(NamedTuple):
    """Full terms of a job from `at_s` on."""

    time_us: int
    source: str
    id: str
    at_s: int
    terms: Terms


class Updated(NamedTuple):
    """Changes to a job's terms from `at_s` on: (field, value) pairs in field order."""

    time_us: int
    source: str
    id: str
    at_s: int
    changes: tuple[tuple[str, Any], ...]


class Full(NamedTuple):
    """A whole run as an accounting system told it."""

    time_us: int
    source: str
    id: str
    at_s: int
    terms: Terms
    submitted_s: int | None
    eligible_s: int | None
    started_s: int
    ended_s: int | None
    placements: tuple[Placed, ...]
    pauses: tuple[tuple[int, int | None, bool], ...]
    suspended_s: int
    outcome: str
    exit_code: int | None


class Start(NamedTuple):
    """The attempt began at `at_s`."""

    time_us: int
    source: str
    id: str
    at_s: int
    placements: tuple[Placed, ...]


class End(NamedTuple):
    """An end at `at_s`, of an attempt or of the whole job."""

    time_us: int
    source: str
    id: str
    at_s: int
    outcome: str
    exit_code: int | None


class Toggle(NamedTuple):
    """A pause opened (`suspends`) or closed at `at_s`."""

    time_us: int
    source: str
    id: str
    at_s: int
    suspends: bool
    releases: bool


class Idle(NamedTuple):
    """All samples zero since `since_s`."""

    time_us: int
    source: str
    id: str
    since_s: int


Statement = NodeStatement | Submitted | Updated | Full | Start | End | Toggle | Idle
S = TypeVar("S", NodeStatement, Submitted, Updated, Full, Start, End, Toggle, Idle)


_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode
"""Kept, because `json.dumps` makes a new one at every call."""


def canonical(record: object) -> bytes:
    """The canonical bytes of a record of tuples, text, integers, booleans and None."""
    return _ENCODE(record).encode()


def digest(record: object) -> int:
    """blake2b-128 of the canonical bytes, as an integer."""
    return int.from_bytes(blake2b(canonical(record), digest_size=16).digest(), "big")


def cause_of(source: str, event_id: str, seq: int) -> bytes:
    """128-bit hash of an event's identity and its place among the events that changed facts.

    The place keeps two contents that came under one id apart: their postings must stand side by side.
    """
    return blake2b(f"{source}\0{event_id}\0{seq}".encode(), digest_size=16).digest()


def greater(a: S, b: S) -> bool:
    """Whether a's stamp (time, source, id, content hash) is greater than b's."""
    if a[:3] != b[:3]:
        return a[:3] > b[:3]
    return digest(a) > digest(b)


def clash(a: S, b: S) -> bool:
    """Whether two statements share an id and differ in content."""
    return a[1:3] == b[1:3] and a != b


def insert(timeline: list[S], statement: S) -> bool:
    """Put a statement into a timeline kept in stamp order; False if it stands there already."""
    if not timeline or timeline[-1][:3] < statement[:3]:
        timeline.append(statement)
        return True
    if statement in timeline:
        return False
    place = len(timeline)
    while place and greater(timeline[place - 1], statement):
        place -= 1
    timeline.insert(place, statement)
    return True


def _placed(placements: tuple[Placement, ...]) -> tuple[Placed, ...]:
    """Placements by node, those on one node added up."""
    if len(placements) == 1:
        only = placements[0]
        return ((only.node, only.gpus_milli, only.gpu_indices or ()),)
    nodes: dict[str, tuple[int, tuple[int, ...]]] = {}
    for place in placements:
        milli, indices = nodes.get(place.node, (0, ()))
        nodes[place.node] = (milli + place.gpus_milli, indices + (place.gpu_indices or ()))
    return tuple((node, *nodes[node]) for node in sorted(nodes))


# Each of the following makes a statement of an event; `time_us` is the event's time in microseconds.


def node_observed(event: NodeObserved, time_us: int) -> NodeStatement:
    """The statement in a `node.observed`."""
    data = event.data
    return NodeStatement(
        time_us,
        event.source,
        event.id,
        time_us // 1_000_000,
        data.state,
        data.gpus_milli,
        data.gpu_type,
        data.reason,
        data.assumed,
    )


def node_removed(event: NodeRemoved, time_us: int) -> NodeStatement:
    """The statement in a `node.removed`."""
    return NodeStatement(time_us, event.source, event.id, time_us // 1_000_000, "removed", 0, "", "")


def submitted(event: JobSubmitted, time_us: int) -> Submitted:
    """The statement in a `job.submitted`."""
    data = event.data
    shape = data.shape
    terms = Terms(
        data.user,
        data.account or "",
        data.gpus_milli,
        shape.nodes if shape else 0,
        shape.gpus_per_node_milli if shape else 0,
        data.gpu_type or "",
        data.min_runtime_s,
        data.resumable,
        data.priority,
        data.kind,
        data.gang or "",
        data.time_limit_s,
        epoch_s(data.eligible_from) if data.eligible_from else None,
        data.held,
    )
    return Submitted(time_us, event.source, event.id, time_us // 1_000_000, terms)


def updated(event: JobUpdated, time_us: int) -> Updated:
    """The statement in a `job.updated`: only the fields it says something of; null says nothing."""
    data = event.data
    changes: dict[str, Any] = {}
    for field in data.model_fields_set - {"cluster", "job"}:
        value = getattr(data, field)
        if value is None:
            continue
        if field == "shape":
            changes["shape_nodes"] = value.nodes
            changes["shape_gpus_milli"] = value.gpus_per_node_milli
        elif field == "eligible_from":
            changes["eligible_from_s"] = epoch_s(value)
        else:
            changes[field] = value
    return Updated(time_us, event.source, event.id, time_us // 1_000_000, tuple(sorted(changes.items())))


def full(event: RunObserved, time_us: int) -> Full:
    """The statement in a `run.observed`."""
    data = event.data
    placements = _placed(data.placements)
    terms = Terms(
        user=data.user,
        account=data.account or "",
        gpus_milli=sum(p[1] for p in placements),
        shape_nodes=len(placements),
        shape_gpus_milli=max(p[1] for p in placements),
        gpu_type=data.gpu_type or "",
        min_runtime_s=data.min_runtime_s,
        resumable=data.resumable,
        priority=data.priority,
        kind=data.kind,
        gang=data.gang or "",
        time_limit_s=data.time_limit_s,
    )
    return Full(
        time_us,
        event.source,
        event.id,
        time_us // 1_000_000,
        terms,
        epoch_s(data.submitted_at) if data.submitted_at else None,
        epoch_s(data.eligible_at) if data.eligible_at else None,
        epoch_s(data.started_at),
        epoch_s(data.ended_at) if data.ended_at else None,
        placements,
        tuple(
            (epoch_s(p.since), epoch_s(p.until) if p.until else None, p.releases_gpus) for p in data.suspensions or ()
        ),
        0 if data.suspensions is not None else data.suspended_s,
        data.outcome or "",
        data.exit_code,
    )


def start(event: JobStarted, time_us: int) -> Start:
    """The statement in a `job.started`."""
    return Start(
        time_us,
        event.source,
        event.id,
        time_us // 1_000_000,
        _placed(event.data.placements),
    )


def end(event: JobEnded, time_us: int) -> End:
    """The statement in a `job.ended`."""
    return End(
        time_us,
        event.source,
        event.id,
        time_us // 1_000_000,
        event.data.outcome,
        event.data.exit_code,
    )


def end_of(statement: Full) -> End | None:
    """The end a full statement tells, under its stamp."""
    if statement.ended_s is None:
        return None
    return End(*statement[:3], statement.ended_s, statement.outcome, statement.exit_code)


def toggle(event: JobSuspended | JobResumed, time_us: int) -> Toggle:
    """The statement in a `job.suspended` or `job.resumed`."""
    suspends = isinstance(event, JobSuspended)
    releases = isinstance(event, JobSuspended) and event.data.releases_gpus
    return Toggle(time_us, event.source, event.id, time_us // 1_000_000, suspends, releases)


def idle(event: GpuIdleObserved, time_us: int) -> Idle:
    """The statement in a `gpu.idle_observed`."""
    return Idle(time_us, event.source, event.id, epoch_s(event.data.since))
