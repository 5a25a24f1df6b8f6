"""Events of a made-up cluster at the size the aims speak of: 1,250 nodes of 8 GPUs, 500 accounts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ledger.events import (
    ClockTicked,
    ClusterEvent,
    JobCheckpointed,
    JobEnded,
    JobStarted,
    JobSubmitted,
    NodeObserved,
    PolicySet,
    SharesSet,
)
from ledger.units import GPU_MILLI

CLUSTER = "bench"
OPENS = datetime(2026, 1, 5, tzinfo=UTC)
NODES = 1_250
TEAMS = 25
PROJECTS = 20
"""Teams × projects = 500 leaf accounts."""


def _event(kind: type, name: str, at: datetime, data: dict[str, object]) -> ClusterEvent:
    return kind.model_validate(
        {"id": name, "source": "bench", "time": at, "recordedtime": at, "data": {"cluster": CLUSTER, **data}}
    )


def account(number: int) -> str:
    """One of the 500 leaf accounts."""
    return f"lab/t{number % TEAMS}/p{number // TEAMS % PROJECTS}"


def setup(nodes: int = NODES, at: datetime = OPENS) -> Iterator[ClusterEvent]:
    """Policy, nodes and shares at the opening."""
    yield _event(PolicySet, "open", at, {"opens_at": at, "author": "bench"})
    for n in range(nodes):
        data = {"node": f"n{n:04}", "gpu_type": "h100", "gpus_milli": 8 * GPU_MILLI, "state": "available"}
        yield _event(NodeObserved, f"node/{n}", at, data)
    teams = [{"child": f"t{t}", "share_percent": "4"} for t in range(TEAMS)]
    base: dict[str, object] = {"author": "bench", "expected_revision": 0}
    yield _event(SharesSet, "shares/lab", at, {**base, "parent": "lab", "children": teams})
    projects = [{"child": f"p{p}", "share_percent": "5"} for p in range(PROJECTS)]
    for t in range(TEAMS):
        yield _event(SharesSet, f"shares/t{t}", at, {**base, "parent": f"lab/t{t}", "children": projects})


def submitted(job: int, at: datetime, gpus: int = 1) -> ClusterEvent:
    """A funded job of the account its number falls on."""
    data = {
        "job": f"j{job}",
        "user": f"u{job % 150}",
        "account": account(job),
        "gpus_milli": gpus * GPU_MILLI,
        "shape": {"nodes": 1, "gpus_per_node_milli": gpus * GPU_MILLI},
        "gpu_type": "h100",
        "min_runtime_s": 3_600,
        "resumable": True,
    }
    return _event(JobSubmitted, f"submit/{job}", at, data)


def started(job: int, at: datetime, node: int, gpus: int = 1, indices: tuple[int, ...] | None = None) -> ClusterEvent:
    """It starts on a node, on named GPUs where the source tells."""
    placement = {"node": f"n{node:04}", "gpus_milli": gpus * GPU_MILLI, "gpu_indices": indices}
    return _event(JobStarted, f"start/{job}", at, {"job": f"j{job}", "attempt": "1", "placements": [placement]})


def checkpointed(job: str, at: datetime) -> ClusterEvent:
    """Its work so far is saved."""
    return _event(JobCheckpointed, f"saved/{job}", at, {"job": job, "attempt": "1"})


def ended(job: int, at: datetime, recorded: datetime | None = None) -> ClusterEvent:
    """It ends well."""
    event = _event(JobEnded, f"end/{job}", at, {"job": f"j{job}", "attempt": "1", "outcome": "succeeded"})
    return event if recorded is None else event.model_copy(update={"recordedtime": recorded})


def tick(at: datetime) -> ClusterEvent:
    """The clock."""
    return _event(ClockTicked, f"tick/{at.isoformat()}", at, {"at": at})


def churn(jobs: int, at: datetime, first: int = 0) -> Iterator[ClusterEvent]:
    """Jobs that are submitted, start and end within the open hour: no closed hour is touched."""
    for n in range(first, first + jobs):
        moment = at + timedelta(milliseconds=n % 1_000)
        yield submitted(n, moment)
        yield started(n, moment + timedelta(seconds=5), n % NODES)
        yield ended(n, moment + timedelta(seconds=900))
