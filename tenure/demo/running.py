"""The moving parts of the simulation: machines, jobs on their way, runs on GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ledger.events.jobs import Outcome
from ledger.events.nodes import NodeState
from tenure.demo.cluster import GPUS_PER_NODE, NodeSpec
from tenure.demo.habits import MINUTE_S
from tenure.demo.jobs import Job
from tenure.demo.truth import Attempt, Part, Stop

RESTART_S = 5 * MINUTE_S
"""Running time an attempt spends on loading the checkpoint of the last one."""


@dataclass(slots=True, eq=False)
class Case:
    """A job on its way through queue and attempts.

    From `asks_s` it may ask again for GPUs of unfunded runs, from `reclaims_s` for those of banked ones.
    """

    job: Job
    attempt_s: int
    eligible_s: int
    joined_s: int = 0
    waiting: bool = False
    banked_s: int = 0
    setbacks: int = 0
    paused: bool = False
    requeued: bool = False
    asks_s: int = 0
    reclaims_s: int = 0


@dataclass(slots=True, eq=False)
class Run:
    """An attempt on its GPUs; `due` counts its planned ends, so that an outdated one is ignored."""

    case: Case
    started_s: int
    contract_ends_s: int
    places: list[tuple[Machine, tuple[int, ...]]]
    stops: list[Stop] = field(default_factory=list)
    stopped_since_s: int | None = None
    stopped_s: int = 0
    due: int = 0
    gpus: int = field(init=False)
    account: str = field(init=False)
    funded: bool = field(init=False)

    def __post_init__(self) -> None:
        # Copied, because the scheduler reads them a million times.
        job = self.case.job
        self.gpus, self.account, self.funded = job.gpus, job.ask.account or "", job.funded

    @property
    def lends(self) -> bool:
        """Whether it stands still and has given its GPUs back for the while."""
        pause = self.case.job.nature.pause
        return self.stopped_since_s is not None and pause is not None and pause.releases_gpus

    def elapsed_s(self, at_s: int) -> int:
        """Seconds of running until `at_s`, standing still not counted."""
        standing_s = at_s - self.stopped_since_s if self.stopped_since_s is not None else 0
        return at_s - self.started_s - self.stopped_s - standing_s

    def reload_s(self) -> int:
        """Running time before it makes progress."""
        return RESTART_S if self.case.banked_s else 0

    def saved_s(self, at_s: int) -> int:
        """Progress that survives an end at `at_s`."""
        every_s = self.case.job.nature.checkpoint_s
        if not every_s:
            return 0
        fresh_s = self.elapsed_s(at_s) // every_s * every_s - self.reload_s()
        return self.case.banked_s + max(0, fresh_s)

    def lost_s(self, at_s: int) -> int:
        """Running time lost if it ended at `at_s`."""
        every_s = self.case.job.nature.checkpoint_s
        return self.elapsed_s(at_s) % every_s if every_s else self.elapsed_s(at_s)

    def banked(self, at_s: int) -> bool:
        """Whether its minimum runtime is over; a run without contract is never protected."""
        return self.stopped_since_s is None and self.contract_ends_s + self.stopped_s <= at_s

    def closed(self, now_s: int, outcome: Outcome | None, *, final: bool) -> Attempt:
        """What is remembered of it: ended now as `outcome`, or still running now if that is None."""
        ended_s = None if outcome is None else now_s
        stops = list(self.stops)
        if self.stopped_since_s is not None:
            stops.append(Stop(self.stopped_since_s, ended_s, self.lends))
        return Attempt(
            self.case.job,
            self.case.attempt_s,
            self.case.eligible_s,
            self.started_s,
            ended_s,
            tuple(Part(machine.spec.name, indices) for machine, indices in self.places),
            tuple(stops),
            self._checkpoints_s(stops, now_s),
            outcome,
            final,
        )

    def _checkpoints_s(self, stops: list[Stop], last_s: int) -> tuple[int, ...]:
        """Instants before `last_s` at which another `checkpoint_s` of running was complete."""
        every_s = self.case.job.nature.checkpoint_s
        if not every_s:
            return ()
        taken: list[int] = []
        pending = list(stops)
        at_s = self.started_s + every_s
        while at_s < last_s:
            if pending and pending[0].since_s < at_s:
                stop = pending.pop(0)
                at_s += (last_s if stop.until_s is None else stop.until_s) - stop.since_s
                continue
            taken.append(at_s)
            at_s += every_s
        return tuple(taken)


@dataclass(slots=True, eq=False)
class Machine:
    """A node in the simulation: who holds each GPU, and who lent it while standing still.

    `changes` counts state changes, so that a planned return to work is ignored once something else happened.
    """

    spec: NodeSpec
    state: NodeState | Literal["removed"] = "available"
    owners: list[Run | None] = field(default_factory=lambda: [None] * GPUS_PER_NODE)
    lenders: list[Run | None] = field(default_factory=lambda: [None] * GPUS_PER_NODE)
    changes: int = 0
    repair_s: int | None = None
    reason: str = ""
    free: int = GPUS_PER_NODE
    borrowable: int = GPUS_PER_NODE
    soft: int = 0

    def count(self) -> None:
        """Renew what is `free` for anybody, `borrowable` by unfunded runs, and `soft`: held by unfunded runs."""
        self.free = self.borrowable = self.soft = 0
        if self.state != "available":
            return
        for owner, lender in zip(self.owners, self.lenders, strict=True):
            if owner is None:
                self.borrowable += 1
                self.free += lender is None
            elif lender is None and not owner.funded:
                self.soft += 1

    def take(self, gpus: int, run: Run, *, borrow: bool) -> tuple[int, ...]:
        """Give the lowest free indices to `run`."""
        indices = [
            index
            for index in range(GPUS_PER_NODE)
            if self.owners[index] is None and (borrow or self.lenders[index] is None)
        ][:gpus]
        assert len(indices) == gpus, "the caller checked that they fit"
        for index in indices:
            self.owners[index] = run
        self.count()
        return tuple(indices)

    def runs(self) -> list[Run]:
        """Every run on it, lenders included, each once."""
        return list(dict.fromkeys(run for run in (*self.owners, *self.lenders) if run is not None))

    @property
    def empty(self) -> bool:
        return not any(self.owners) and not any(self.lenders)
