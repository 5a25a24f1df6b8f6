"""What is known of one job: its attempts with what they were charged, its place in the queue, what was corrected."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ledger.ranking import Ranked
from ledger.standing import QueueEntry, queue
from ledger.state import State
from ledger.store.protocol import Store, Value
from ledger.units import epoch_s
from tenure.cli.queries import read
from tenure.cli.reasons import Reason, reasons
from tenure.cli.text import of_gpus, ratio

Row = dict[str, Any]
"""A row of a public view under its column names (docs/sql.md)."""

AHEAD_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Loss:
    """What a preemption cost a run: GPU-milliseconds since its checkpoint if it can resume, else since its start.

    `successors` started on its nodes right after; `next` is the attempt it went on as, None before there is one.
    """

    run: Row
    lost_gpu_ms: int
    since: datetime
    checkpointed: bool
    successors: list[Row]
    next: Row | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job in the queue; `ahead` are those ranked before it in its pool, the first ones, of `ahead_count`."""

    entry: QueueEntry
    ahead: list[QueueEntry]
    ahead_count: int
    ahead_gpus_milli: int
    at_s: int


@dataclass(frozen=True, slots=True)
class Explained:
    """All that is told of a job. `job` is None for runs whose job nobody submitted."""

    cluster: str
    name: str
    job: Row | None
    runs: list[Row]
    losses: list[Loss]
    corrections: list[Row]
    remarks: list[Row]
    reassigned: list[Row]
    sampled_gpu_ms: int
    utilized_gpu_ms: int
    idle_gpu_ms: int
    waiting: Waiting | None
    reasons: list[Reason] = field(default_factory=list)

    @property
    def asked(self) -> list[Reason]:
        """Plans that were made for it."""
        return [one for one in self.reasons if one.plan["job"] == self.name]

    @property
    def yielded(self) -> list[tuple[Reason, Row]]:
        """Plans by which a run of its has to leave, with the run."""
        return [(one, run) for one in self.reasons for run in one.runs if run["job"] == self.name]

    @property
    def last(self) -> Row | None:
        """The latest attempt."""
        return self.runs[-1] if self.runs else None

    @property
    def waits(self) -> bool:
        """Whether the job is in the queue as its row says."""
        return self.job is not None and self.job["state"] in {"pending", "held"}


def gather(store: Store, cluster: str, job: str) -> Explained | None:
    """Everything but the queue, which needs the facts; None for a job nobody knows."""
    asked: dict[str, Value] = {"cluster": cluster, "job": job}

    def rows(query: str) -> list[Row]:
        return store.query(read(query), asked).dicts()

    jobs, runs = rows("job"), rows("job_runs")
    if not jobs and not runs:
        return None
    (use,) = rows("job_use")
    return Explained(
        cluster=cluster,
        name=job,
        job=jobs[0] if jobs else None,
        runs=runs,
        losses=[
            _loss(store, cluster, run, runs[at:]) for at, run in enumerate(runs, 1) if run["outcome"] == "preempted"
        ],
        corrections=rows("job_corrections"),
        remarks=rows("job_remarks"),
        reassigned=rows("job_reassigned"),
        sampled_gpu_ms=use["sampled_gpu_ms"],
        utilized_gpu_ms=use["utilized_gpu_ms"],
        idle_gpu_ms=use["idle_gpu_ms"],
        waiting=None,
        reasons=reasons(store, cluster, job),
    )


def _loss(store: Store, cluster: str, run: Row, later: list[Row]) -> Loss:
    """POLICY §3, proportion: lost is since the checkpoint if the run is resumable, else since its start.

    As in report_losses: time since a checkpoint counts whole, though never more than ran.
    """
    banked = run["checkpointed_at"] if run["resumable"] else None
    since = run["started_at"] if banked is None else max(banked, run["started_at"])
    lost_s = min(run["running_s"], epoch_s(run["ended_at"]) - epoch_s(since))
    asked: dict[str, Value] = {"cluster": cluster, "job": run["job"], "ended_s": epoch_s(run["ended_at"])}
    asked["nodes"] = list(run["placed_nodes"])
    successors = store.query(read("job_successors"), asked).dicts()
    again = later[0] if later else None
    return Loss(run, run["gpus_milli"] * lost_s, since, banked is not None, [dict(row) for row in successors], again)


def waiting(state: State, job: str) -> Waiting | None:
    """The job's place in the queue at the last tick; None if it does not wait then."""
    entries = queue(state)
    mine = next((e for e in entries if e.job.job == job), None)
    if mine is None:
        return None
    place = mine.ranked
    ahead = [
        e
        for e in entries
        if place is not None and e.pool == mine.pool and e.ranked and e.ranked.position < place.position
    ]
    gpus_ahead = sum(e.job.gpus_milli for e in ahead)
    return Waiting(mine, ahead[-AHEAD_SHOWN:], len(ahead), gpus_ahead, state.ticked_s)


def comparison(mine: Ranked, other: Ranked) -> str:
    """Why `other` is ahead of `mine`: the first thing in which they differ, as `ledger.ranking` compares them."""
    if not mine.path:
        return "it is funded, and unfunded work comes last" if other.path else "it was submitted earlier"
    if mine.path[-1][0] == other.path[-1][0]:
        return _inside(mine, other)
    for (my_account, my_ratio), (their_account, their_ratio) in zip(mine.path, other.path, strict=False):
        if my_account != their_account and my_ratio != their_ratio:
            return f"{their_account} has ρ {ratio(their_ratio)}, {my_account} has {ratio(my_ratio)}"
    return "their ratios tie, and its place came earlier"


def _inside(mine: Ranked, other: Ranked) -> str:
    """Two jobs of one account."""
    if other.job.priority != mine.job.priority:
        return f"same account, and its priority is {other.job.priority} against {mine.job.priority}"
    if other.job.is_debug != mine.job.is_debug:
        return "same account, and it is a debug run"
    return "same account, and it was submitted earlier"


def size(run: Row) -> str:
    """GPUs and nodes of a run: `32 GPUs on 4 nodes`."""
    nodes = list(run["placed_nodes"])
    where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
    return f"{of_gpus(run['gpus_milli'])} on {where}"
