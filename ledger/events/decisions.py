"""What people decide: shares, grants, policy, maintenance, reassignments, reviews. Their order in the log matters."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from ledger.events.envelope import (
    AccountPath,
    AttemptToken,
    ClusterData,
    Data,
    Envelope,
    GpuType,
    Name,
    Note,
    PositiveMilli,
)

SharePercent = Annotated[Decimal, Field(ge=0, le=100, decimal_places=6)]
"""Exact percent of the parent's claim, to six decimals."""


class ChildShare(Data):
    """One child's part: its last path segment, percent of the parent, most funded milli-GPUs at once."""

    child: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^/\s]+$")]
    share_percent: SharePercent
    slot_limit_milli: PositiveMilli | None = None


class SharesSetData(ClusterData):
    """The whole set of children of `parent`, in force from `effective_at` (default: the event's time).

    `expected_revision` is the revision of (cluster, gpu_type, parent) the author saw; 0 for the first.
    Without `gpu_type` the set holds for every GPU type that has no set of its own for this parent.
    """

    parent: AccountPath
    gpu_type: GpuType | None = None
    children: tuple[ChildShare, ...]
    author: Name
    reason: Note = ""
    expected_revision: Annotated[int, Field(ge=0)]
    effective_at: AwareDatetime | None = None
    backdated: bool = False

    @model_validator(mode="after")
    def _children_once(self) -> SharesSetData:
        names = [c.child for c in self.children]
        if len(set(names)) != len(names):
            msg = "a child is named twice: give each child one share"
            raise ValueError(msg)
        if self.backdated and not self.reason.strip():
            msg = "a back-dated set of shares needs a reason"
            raise ValueError(msg)
        return self


class SharesSet(Envelope):
    """`tenure.shares.set.v1`."""

    type: Literal["tenure.shares.set.v1"] = "tenure.shares.set.v1"
    data: SharesSetData


class ShareDecidedData(ClusterData):
    """The answer to a `share.requested`; an approval is carried out by the `shares.set` it names in its reason."""

    request: Name
    account: AccountPath
    gpu_type: GpuType | None = None
    decision: Literal["approved", "amended", "refused"]
    share_percent: SharePercent | None = None
    author: Name
    reason: Note = ""


class ShareDecided(Envelope):
    """`tenure.share.decided.v1`."""

    type: Literal["tenure.share.decided.v1"] = "tenure.share.decided.v1"
    data: ShareDecidedData


class GrantMadeData(ClusterData):
    """`amount_gpu_ms` more for `account`, accruing evenly over [since, until)."""

    account: AccountPath
    gpu_type: GpuType
    amount_gpu_ms: Annotated[int, Field(gt=0, lt=1 << 53)]
    since: AwareDatetime
    until: AwareDatetime
    author: Name
    reason: Note = ""

    @model_validator(mode="after")
    def _forward(self) -> GrantMadeData:
        if self.until <= self.since:
            msg = "a grant must end after it starts: swap `since` and `until`"
            raise ValueError(msg)
        return self


class GrantMade(Envelope):
    """`tenure.grant.made.v1`."""

    type: Literal["tenure.grant.made.v1"] = "tenure.grant.made.v1"
    data: GrantMadeData


class MaintenancePlannedData(ClusterData):
    """`nodes` are to be out of service over [since, until). The same `window` again replaces what was said of it.

    `cancelled` takes it back. It books nothing: capacity follows what nodes are stated to be.
    """

    window: Name
    nodes: Annotated[tuple[Name, ...], Field(min_length=1)]
    since: AwareDatetime
    until: AwareDatetime
    cancelled: bool = False
    author: Name
    reason: Note = ""

    @model_validator(mode="after")
    def _forward(self) -> MaintenancePlannedData:
        if self.until <= self.since:
            msg = "a window must end after it starts: swap `since` and `until`, or say `cancelled`"
            raise ValueError(msg)
        return self


class MaintenancePlanned(Envelope):
    """`tenure.maintenance.planned.v1`."""

    type: Literal["tenure.maintenance.planned.v1"] = "tenure.maintenance.planned.v1"
    data: MaintenancePlannedData


PolicySeconds = Annotated[int, Field(ge=0, le=86_400)]


class PolicySetData(ClusterData):
    """Only the fields that are present change, from the event's time on.

    `opens_at` fixes where the book begins and is refused once hours are closed.
    """

    opens_at: AwareDatetime | None = None
    window_h: Annotated[int, Field(ge=1, le=24 * 366)] | None = None
    horizon_h: Annotated[int, Field(ge=24, le=24 * 3_660)] | None = None
    max_min_runtime_s: Annotated[int, Field(ge=0, le=31 * 86_400)] | None = None
    ranking: Literal["sliding", "decay"] | None = None
    half_life_h: Annotated[int, Field(ge=1, le=24 * 366)] | None = None
    enforcement: Literal["observe", "enforce", "paused"] | None = None
    preemption_delay_s: PolicySeconds | None = None
    debug_delay_s: PolicySeconds | None = None
    grace_s: PolicySeconds | None = None
    hold_s: PolicySeconds | None = None
    max_orders_per_hour: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    rebalance: bool | None = None
    debug_lane: bool | None = None
    priority_inside_leaf: bool | None = None
    author: Name
    reason: Note = ""


class PolicySet(Envelope):
    """`tenure.policy.set.v1`."""

    type: Literal["tenure.policy.set.v1"] = "tenure.policy.set.v1"
    data: PolicySetData


class RunReassignedData(ClusterData):
    """The run belongs to another account, from its start."""

    job: Name
    attempt: AttemptToken
    account: AccountPath
    author: Name
    reason: Note = ""


class RunReassigned(Envelope):
    """`tenure.run.reassigned.v1`."""

    type: Literal["tenure.run.reassigned.v1"] = "tenure.run.reassigned.v1"
    data: RunReassignedData


class ClockTickedData(ClusterData):
    """The only clock in the fold: every hour whose end + 5 min is at or before `at` is closed."""

    at: AwareDatetime


class ClockTicked(Envelope):
    """`tenure.clock.ticked.v1`."""

    type: Literal["tenure.clock.ticked.v1"] = "tenure.clock.ticked.v1"
    data: ClockTickedData


class NoticeData(ClusterData):
    """An alert crossing: the rule, whom it is about, and the measured value as text."""

    rule: Name
    account: AccountPath | None = None
    job: Name | None = None
    level: str = ""
    sentence: Note = ""


class NoticeRaised(Envelope):
    """`tenure.notice.raised.v1`."""

    type: Literal["tenure.notice.raised.v1"] = "tenure.notice.raised.v1"
    data: NoticeData


class NoticeCleared(Envelope):
    """`tenure.notice.cleared.v1`."""

    type: Literal["tenure.notice.cleared.v1"] = "tenure.notice.cleared.v1"
    data: NoticeData
