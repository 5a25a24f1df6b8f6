"""What the enforcer does, step by step (POLICY §5): a plan is committed, runs are ordered off, room is held, it ends.

Written by whoever owns the cluster's partition and read back before anything is touched. Among each other they are
taken in log order; against observations their order does not matter.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from ledger.events.envelope import (
    AccountPath,
    AttemptToken,
    ClusterData,
    Data,
    Envelope,
    Name,
    Note,
    PositiveMilli,
    Seconds,
)

PlanName = Annotated[str, StringConstraints(min_length=1, max_length=400)]
"""`<pool>/<seq>/<asker job>`, or `drain/<seq>/<node>`: the same facts give the same plan the same name."""
GpuMs = Annotated[int, Field(ge=0, lt=1 << 53)]
Sentences = tuple[Note, ...]
Detail = Annotated[str, StringConstraints(max_length=1 << 16)]
Purpose = Literal["asker", "drain"]
Mode = Literal["observe", "enforce"]
Protection = Literal["unfunded", "over", "within", "contract"]
"""The class of a run as a victim (POLICY §2)."""
How = Literal["requeue", "cancel"]
Settlement = Literal["preempted", "ended_by_itself", "refused", "timed_out", "ignored_signal"]
Why = Literal[
    "asker_started",
    "asker_gone",
    "hold_expired",
    "refused",
    "fits",
    "taken",
    "stopped",
    "observed",
    "drained",
]


class PlanAsker(Data):
    """For whom room is made: `pieces` of `piece_milli` each, at most one on a node if `apart`."""

    job: Name
    account: AccountPath
    pieces: Annotated[int, Field(ge=1, le=1_000_000)]
    piece_milli: PositiveMilli
    min_runtime_s: Seconds
    apart: bool = True


class PlanVictim(Data):
    """A run that is to leave, why it may be taken from, and what it loses."""

    job: Name
    attempt: AttemptToken
    account: AccountPath | None = None
    protection: Protection
    rule: Name
    gpus_milli: PositiveMilli
    lost_gpu_ms: GpuMs
    resumable: bool


class Room(Data):
    """A part of one node."""

    node: Name
    gpus_milli: PositiveMilli


class PlanCommittedData(ClusterData):
    """The whole of a plan made of the facts after `seq` events, as they stood at `at`; `detail` is JSON text.

    It could have been made from `due` on; it was at `time`, by the enforcer's own clock.
    """

    plan: PlanName
    pool: Name
    purpose: Purpose
    mode: Mode
    seq: Annotated[int, Field(ge=0, lt=1 << 53)]
    at: AwareDatetime
    due: AwareDatetime | None = None
    asker: PlanAsker | None = None
    victims: tuple[PlanVictim, ...]
    hosts: tuple[Room, ...]
    rule: Name
    sentences: Sentences = ()
    detail: Detail = ""
    grace_s: Seconds
    hold_s: Seconds

    @model_validator(mode="after")
    def _asks_for_somebody(self) -> PlanCommittedData:
        if (self.asker is None) != (self.purpose == "drain"):
            msg = "a plan is for an asker or a drain: name `asker` for the one, leave it out for the other"
            raise ValueError(msg)
        runs = [(v.job, v.attempt) for v in self.victims]
        if len(set(runs)) != len(runs):
            msg = "a victim is named twice: name each run once"
            raise ValueError(msg)
        return self


class PlanCommitted(Envelope):
    """`tenure.plan.committed.v1`."""

    type: Literal["tenure.plan.committed.v1"] = "tenure.plan.committed.v1"
    data: PlanCommittedData


class PreemptionIssuedData(ClusterData):
    """The run is ordered off: from `time` on it has `grace_s` to leave."""

    plan: PlanName
    job: Name
    attempt: AttemptToken
    how: How
    grace_s: Seconds


class PreemptionIssued(Envelope):
    """`tenure.preemption.issued.v1`."""

    type: Literal["tenure.preemption.issued.v1"] = "tenure.preemption.issued.v1"
    data: PreemptionIssuedData


class PreemptionSettledData(ClusterData):
    """What came of it."""

    plan: PlanName
    job: Name
    attempt: AttemptToken
    outcome: Settlement
    sentence: Note = ""


class PreemptionSettled(Envelope):
    """`tenure.preemption.settled.v1`."""

    type: Literal["tenure.preemption.settled.v1"] = "tenure.preemption.settled.v1"
    data: PreemptionSettledData


class CapacityHeldData(ClusterData):
    """Room is kept for the plan's asker; `handle` is the scheduler's name of the hold, '' where it has none."""

    plan: PlanName
    nodes: tuple[Room, ...]
    until: AwareDatetime
    handle: Annotated[str, StringConstraints(max_length=256)] = ""


class CapacityHeld(Envelope):
    """`tenure.capacity.held.v1`."""

    type: Literal["tenure.capacity.held.v1"] = "tenure.capacity.held.v1"
    data: CapacityHeldData


class PlanExpiredData(ClusterData):
    """The plan is over, why, and how much GPU time was held for nothing."""

    plan: PlanName
    why: Why
    wasted_gpu_ms: GpuMs = 0
    sentence: Note = ""


class PlanExpired(Envelope):
    """`tenure.plan.expired.v1`."""

    type: Literal["tenure.plan.expired.v1"] = "tenure.plan.expired.v1"
    data: PlanExpiredData
