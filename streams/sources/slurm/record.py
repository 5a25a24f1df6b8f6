"""One statement of one Slurm job, the same whatever format it came in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ledger.units import HOUR_S
from streams.sources.slurm.gres import Gpus
from streams.sources.slurm.states import Phase, State

NO_GPUS: Final = Gpus(0)
CLOCK_STEP_S: Final = 1_800
"""Zones change their clocks by hours, one by half an hour."""


@dataclass(frozen=True, slots=True)
class JobId:
    """`base` is the number; an array row names its `tasks`, a heterogeneous component its `offset`, a step its name."""

    base: str
    tasks: tuple[str, ...] = ()
    offset: str | None = None
    step: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The job keys, unique per task: `12`, `12_3`, `12+1`."""
        if self.offset is not None:
            return (f"{self.base}+{self.offset}",)
        return tuple(f"{self.base}_{task}" for task in self.tasks) or (self.base,)

    @property
    def gang(self) -> str | None:
        """The heterogeneous job whose components start and end as one."""
        return None if self.offset is None else self.base


@dataclass(frozen=True, slots=True)
class JobRecord:
    """Times in epoch seconds, None where unknown. `elapsed_s` leaves suspended time out, as Slurm's Elapsed does.

    `allocated` and `requested` are None where the record has no say, `Gpus(0)` where it says there are none.
    `per_node` are GRES details by node. `suspended_since_s` is set while the job is suspended. `changed_s` is when it
    was last suspended or resumed, as a controller tells, and `ran_s` how long it had run before its last suspension.
    `number` is what Slurm itself calls it, whatever its array or heterogeneous job, '' where it is not told.
    """

    id: JobId
    state: State
    number: str = ""
    cluster: str | None = None
    sluid: str | None = None
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    reservation: str = ""
    comment: str = ""
    submit_s: int | None = None
    eligible_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    elapsed_s: int | None = None
    suspended_s: int = 0
    suspended_since_s: int | None = None
    changed_s: int | None = None
    ran_s: int = 0
    nodes: tuple[str, ...] = ()
    nodes_known: bool = True
    node_count: int = 0
    allocated: Gpus | None = None
    requested: Gpus | None = None
    per_node: tuple[tuple[str, Gpus], ...] = field(default=())
    time_limit_s: int | None = None
    exit_code: int | None = None
    held: bool = False

    @property
    def started(self) -> bool:
        """Whether it held nodes. Slurm writes a start for jobs cancelled in the queue too, but no nodes."""
        if self.start_s is None:
            return False
        if self.nodes_known:
            return bool(self.nodes) or bool(self.elapsed_s)
        return self.state.phase != "pending" or self.state.requeued

    @property
    def gpus(self) -> Gpus:
        """What it holds if it started, else what it asks for."""
        if self.started and self.per_node:
            return _summed([gpus for _, gpus in self.per_node])
        first, second = (self.allocated, self.requested) if self.started else (self.requested, self.allocated)
        return first or second or NO_GPUS

    @property
    def gpus_unsaid(self) -> bool:
        """Whether the record says nothing about GPUs, not even that there are none."""
        unsaid = self.requested is None and not self.per_node
        return unsaid and self.allocated is None if self.started else unsaid

    @property
    def over(self) -> bool:
        """Whether this attempt is over: ended, or back in the queue after it ran."""
        return self.state.phase == "ended" or (self.state.requeued and self.state.phase == "pending")

    def latest_s(self) -> int:
        """The last instant this record knows of, expectations of the scheduler left out."""
        known = [self.submit_s or 0]
        if self.started and self.start_s is not None:
            known += [self.start_s, self.start_s + (self.elapsed_s or 0) + self.suspended_s]
        if self.over:
            known.append(self.end_s or 0)
        return max(known)


def _summed(parts: list[Gpus]) -> Gpus:
    types = tuple(sorted({name for part in parts for name in part.types}))
    return Gpus(sum(part.milli for part in parts), types)


def suspensions(phase: Phase, start_s: int | None, changed_s: int | None, ran_s: int) -> tuple[int, int | None]:
    """(suspended so far, suspended since) by the controller's account.

    `changed_s` is when it was last suspended or resumed, `ran_s` how long it had run before the last suspension.
    Earlier suspensions of a job that is suspended now are placed just before the current one.
    """
    if start_s is None or changed_s is None:
        return 0, None
    total_s = max(0, changed_s - start_s - ran_s)
    return (0, changed_s - total_s) if phase == "suspended" else (total_s, None)


def end_by_elapsed(start_s: int | None, end_s: int | None, ran_s: int | None) -> int | None:
    """The end, put right where local clocks were set back or forward during the run.

    `ran_s` is Elapsed and Suspended together. Clocks change by whole hours or half hours; any other difference
    is left as it is, for an end before its start is a fault of the record that must be seen.
    """
    if start_s is None or end_s is None or ran_s is None:
        return end_s
    off_s = start_s + ran_s - end_s
    return start_s + ran_s if off_s and off_s % CLOCK_STEP_S == 0 and abs(off_s) <= HOUR_S else end_s


def since_elapsed(phase: Phase, start_s: int | None, elapsed_s: int | None) -> int | None:
    """When a job that accounting shows as suspended stopped running: so long after its start as it ran."""
    if phase != "suspended" or start_s is None or elapsed_s is None:
        return None
    return start_s + elapsed_s
