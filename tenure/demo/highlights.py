"""Where to look: the things a tour of the demo wants to show, by name and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ledger.units import hour_floor_s
from tenure.demo.decided import MAX_CONTRACT_S, revision_id
from tenure.demo.lateness import Outage, outage
from tenure.demo.reassigned import Reassigned
from tenure.demo.reporting import Telling
from tenure.demo.reviews import REVISIONS
from tenure.demo.span import Span
from tenure.demo.tree import BURST_TEAM, IDLE_TEAM, UNKNOWN
from tenure.demo.truth import Attempt, Truth


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of the demo's cluster."""

    job: str
    attempt: str


@dataclass(frozen=True, slots=True)
class LateNode:
    """A node was down from `since_s`; the log learnt it at `recorded_s`: ask as known at either side of that."""

    node: str
    since_s: int
    recorded_s: int

    @property
    def known_before_s(self) -> int:
        return self.recorded_s - 1

    @property
    def known_after_s(self) -> int:
        return self.recorded_s + 1


@dataclass(frozen=True, slots=True)
class CorrectedRun:
    """A run whose end was first reported as `said_s`, and put right to `ended_s` at `corrected_s`."""

    run: RunName
    account: str
    hour_s: int
    said_s: int
    ended_s: int
    corrected_s: int


@dataclass(frozen=True, slots=True)
class Highlights:
    """Names and epoch seconds; every one of them is in the events of this demo."""

    preempted: RunName
    resumed_job: str
    squatter: RunName
    failed_with_its_node: RunName
    corrected: CorrectedRun
    late_node: LateNode
    removed_node: str
    reassigned: RunName
    reassigned_from: str
    reassigned_to: str
    outage: Outage
    unknown_account: str
    over_maximum_job: str
    idle_team: str
    burst_team: str
    backdated_parent: str
    stale_shares_id: str


def highlights(span: Span, truth: Truth, tellings: list[Telling], late_node: LateNode, moved: Reassigned) -> Highlights:
    """The most telling example of each kind."""
    attempts = truth.attempts
    return Highlights(
        preempted=_largest(a for a in attempts if a.outcome == "preempted" and a.job.funded),
        resumed_job=_most_resumed(attempts),
        squatter=_squatter(attempts),
        failed_with_its_node=_largest(a for a in attempts if a.outcome == "node_failure"),
        corrected=_corrected(tellings),
        late_node=late_node,
        removed_node=next(change.node for change in truth.nodes if change.state == "removed"),
        reassigned=_name(moved.attempt),
        reassigned_from=moved.account,
        reassigned_to=moved.right_account,
        outage=outage(span),
        unknown_account=UNKNOWN,
        over_maximum_job=next(job.job for job in truth.jobs if job.ask.min_runtime_s > MAX_CONTRACT_S),
        idle_team=IDLE_TEAM,
        burst_team=BURST_TEAM,
        backdated_parent=next(r.shares.parent for r in REVISIONS if r.backdated),
        stale_shares_id=next(revision_id(r) for r in REVISIONS if r.stale),
    )


def _name(attempt: Attempt) -> RunName:
    return RunName(attempt.job.job, attempt.name)


def _gpu_s(attempt: Attempt) -> int:
    """GPU-seconds of an attempt that ended, 0 of one still running."""
    return 0 if attempt.ended_s is None else attempt.job.gpus * (attempt.ended_s - attempt.started_s)


def _largest(attempts: Iterable[Attempt]) -> RunName:
    return _name(max(attempts, key=lambda a: (_gpu_s(a), a.job.number)))


def _squatter(attempts: tuple[Attempt, ...]) -> RunName:
    """A session that never used its GPUs, or at least one that left them idle; the largest."""
    sessions = [a for a in attempts if a.job.ask.kind == "session" and a.job.nature.idle_from_s is not None]
    return _name(max(sessions, key=lambda a: (a.job.nature.idle_from_s == 0, _gpu_s(a), a.job.number)))


def _most_resumed(attempts: tuple[Attempt, ...]) -> str:
    """The funded job with most attempts."""
    counts = Counter(attempt.job.number for attempt in attempts if attempt.job.funded)
    return str(max(counts, key=lambda number: (counts[number], number)))


def _corrected(tellings: list[Telling]) -> CorrectedRun:
    """The largest run whose end was told wrongly; best a funded one, told to be longer than it was."""
    telling = max((t for t in tellings if t.manner == "corrected"), key=_tells)
    attempt = telling.attempt
    assert attempt.ended_s is not None, "only ended runs are corrected"
    assert telling.said_s is not None, "its end was told"
    assert telling.right_s is not None, "and put right"
    return CorrectedRun(
        _name(attempt),
        attempt.job.ask.account or "",
        hour_floor_s(attempt.ended_s),
        telling.said_s,
        attempt.ended_s,
        telling.right_s,
    )


def _tells(telling: Telling) -> tuple[bool, bool, int]:
    attempt = telling.attempt
    too_long = (telling.said_s or 0) > (attempt.ended_s or 0)
    return attempt.job.funded, too_long, _gpu_s(attempt)
