"""Every event Tenure understands, as pydantic models in a CloudEvents 1.0 envelope.

`Event` is the union told apart by `type`; `decode` reads one from its bytes.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ledger.events.acts import (
    CapacityHeld,
    PlanCommitted,
    PlanExpired,
    PreemptionIssued,
    PreemptionSettled,
)
from ledger.events.decisions import (
    ClockTicked,
    GrantMade,
    MaintenancePlanned,
    NoticeCleared,
    NoticeRaised,
    PolicySet,
    RunReassigned,
    ShareDecided,
    SharesSet,
)
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.events.jobs import (
    JobCheckpointed,
    JobEnded,
    JobResumed,
    JobStarted,
    JobSubmitted,
    JobSuspended,
    JobUpdated,
    RunObserved,
)
from ledger.events.nodes import GpuIdleObserved, GpuSampled, NodeObserved, NodeRemoved

Observation = (
    NodeObserved
    | NodeRemoved
    | JobSubmitted
    | JobUpdated
    | JobStarted
    | JobSuspended
    | JobResumed
    | JobCheckpointed
    | JobEnded
    | RunObserved
    | GpuIdleObserved
)
"""What was seen: order-free."""

Decision = SharesSet | ShareDecided | GrantMade | PolicySet | MaintenancePlanned | RunReassigned
"""What people decided: taken in log order."""

Act = PlanCommitted | PreemptionIssued | PreemptionSettled | CapacityHeld | PlanExpired
"""What the enforcer did: taken in log order, like decisions."""

ClusterEvent = Observation | Decision | Act | ClockTicked | NoticeRaised | NoticeCleared
"""What goes to `tenure.events` under the cluster's key."""

DirectoryEvent = AccountOpened | AccountChanged | AccountClosed | ShareRequested

Event = Annotated[ClusterEvent | DirectoryEvent | GpuSampled, Field(discriminator="type")]

EVENT: TypeAdapter[ClusterEvent | DirectoryEvent | GpuSampled] = TypeAdapter(Event)
"""Validator of one event; raises pydantic.ValidationError."""

EVENTS: TypeAdapter[list[ClusterEvent | DirectoryEvent | GpuSampled]] = TypeAdapter(list[Event])
"""Validator of a batch (a JSON array)."""

__all__ = [
    "EVENT",
    "EVENTS",
    "AccountChanged",
    "AccountClosed",
    "AccountOpened",
    "Act",
    "CapacityHeld",
    "ClockTicked",
    "ClusterEvent",
    "Decision",
    "DirectoryEvent",
    "Event",
    "GpuIdleObserved",
    "GpuSampled",
    "GrantMade",
    "JobCheckpointed",
    "JobEnded",
    "JobResumed",
    "JobStarted",
    "JobSubmitted",
    "JobSuspended",
    "JobUpdated",
    "MaintenancePlanned",
    "NodeObserved",
    "NodeRemoved",
    "NoticeCleared",
    "NoticeRaised",
    "Observation",
    "PlanCommitted",
    "PlanExpired",
    "PolicySet",
    "PreemptionIssued",
    "PreemptionSettled",
    "RunObserved",
    "RunReassigned",
    "ShareDecided",
    "ShareRequested",
    "SharesSet",
]
