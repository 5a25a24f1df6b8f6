"""What is well-formed and yet cannot be kept: an instant no calendar has, a number no column holds.

Such a value must not get into a book: its writer would stop at it, and at every start again. Every event passes here,
so what is looked at is listed by type; a test holds the lists against the models.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from ledger.events import (
    CapacityHeld,
    ClockTicked,
    ClusterEvent,
    DirectoryEvent,
    GpuIdleObserved,
    GpuSampled,
    GrantMade,
    JobEnded,
    JobStarted,
    JobSubmitted,
    JobUpdated,
    MaintenancePlanned,
    NodeObserved,
    PlanCommitted,
    PolicySet,
    RunObserved,
    SharesSet,
)
from ledger.events.jobs import Placement
from ledger.outcomes import Refused
from ledger.units import DAY_S

AnyEvent = ClusterEvent | DirectoryEvent | GpuSampled

INT32: Final = range(-(1 << 31), 1 << 31)
INT64: Final = range(-(1 << 63), 1 << 63)
UINT16: Final = range(1 << 16)
SAMPLED_S: Final = range(DAY_S + 1)
"""A sample's interval: those of a day and less are found when hours are summed."""

FIRST_YEAR: Final = 1970
"""Waits and runs are measured in 32 bits of seconds, which from here on reach as far as the columns do."""
LAST_YEAR: Final = 9999
LOGGED_YEARS: Final = range(1900, 2300)
"""What a column of the log holds: another year would be kept as the nearest of these, and the hash would differ."""
PLAIN_YEARS: Final = LOGGED_YEARS[1:-1]
"""Of these any time zone is within the log's."""

INSTANTS: Final[dict[type, tuple[str, ...]]] = {
    JobSubmitted: ("eligible_from",),
    JobUpdated: ("eligible_from",),
    RunObserved: ("submitted_at", "eligible_at", "started_at", "ended_at"),
    GpuIdleObserved: ("since",),
    NodeObserved: ("booted_at",),
    GpuSampled: ("since", "until"),
    SharesSet: ("effective_at",),
    GrantMade: ("since", "until"),
    PolicySet: ("opens_at",),
    MaintenancePlanned: ("since", "until"),
    ClockTicked: ("at",),
    PlanCommitted: ("at", "due"),
    CapacityHeld: ("until",),
}
"""Instants in the data of an event."""

INTEGERS: Final = frozenset({JobSubmitted, JobUpdated, JobStarted, JobEnded, RunObserved, GpuSampled})
"""Events with integers that their models leave open and the columns do not."""


def out_of_bounds(event: AnyEvent) -> Refused | None:
    """Why the event cannot be kept, and what to do; None if it can."""
    kind = type(event)
    if event.time.year not in PLAIN_YEARS and (refused := _not_in_the_log("time", event.time)):
        return refused
    at = event.recordedtime
    if at is not None and at.year not in PLAIN_YEARS and (refused := _not_in_the_log("recordedtime", at)):
        return refused
    for field in INSTANTS.get(kind, ()):
        at = getattr(event.data, field)
        if at is not None and not FIRST_YEAR < at.year < LAST_YEAR:
            refused = _not_in_utc(f"data.{field}", at) or _before_time(f"data.{field}", at)
            if refused is not None:
                return refused
    return _number(event) if kind in INTEGERS else None


def _not_in_utc(name: str, at: datetime) -> Refused | None:
    try:
        at.astimezone(UTC)
    except OverflowError:
        return Refused(
            "not_an_event",
            f"{name} is {at.isoformat()}, which no UTC calendar has; leave out an instant that is not known",
        )
    return None


def _not_in_the_log(name: str, at: datetime) -> Refused | None:
    refused = _not_in_utc(name, at)
    if refused is None and at.astimezone(UTC).year not in LOGGED_YEARS:
        refused = Refused(
            "not_an_event",
            f"{name} is {at.isoformat()}, out of {LOGGED_YEARS.start} to {LOGGED_YEARS.stop - 1}; "
            "set the clock of the source and send the event again",
        )
    return refused


def _before_time(name: str, at: datetime) -> Refused | None:
    if at.astimezone(UTC).year >= FIRST_YEAR:
        return None
    return Refused(
        "clock_not_set",
        f"{name} is {at.isoformat()}, before {FIRST_YEAR}; leave out an instant that is not known, "
        "or set the clock of the source",
    )


def _number(event: AnyEvent) -> Refused | None:
    for name, value, bounds in _numbers(event):
        if value is not None and value not in bounds:
            return Refused(
                "not_an_event",
                f"{name} is {_short(value)}, out of {bounds.start} to {bounds.stop - 1}; "
                "correct it at its source, or leave it out, and send the event again",
            )
    return None


def _numbers(event: AnyEvent) -> Iterator[tuple[str, int | None, range]]:
    match event:
        case JobSubmitted() | JobUpdated():
            yield "data.priority", event.data.priority, INT64
        case JobStarted():
            yield from _indices(event.data.placements)
        case JobEnded():
            yield "data.exit_code", event.data.exit_code, INT32
        case RunObserved():
            yield "data.priority", event.data.priority, INT64
            yield "data.exit_code", event.data.exit_code, INT32
            yield from _indices(event.data.placements)
        case GpuSampled():
            interval = event.data.until - event.data.since
            yield "the interval in seconds", round(interval.total_seconds()), SAMPLED_S
            for gpu in event.data.gpus:
                yield "data.gpus.xid", gpu.xid, INT32
        case _:
            return


def _indices(placements: tuple[Placement, ...]) -> Iterator[tuple[str, int, range]]:
    for placement in placements:
        for index in placement.gpu_indices or ():
            yield "data.placements.gpu_indices", index, UINT16


def _short(value: int) -> str:
    """The number in not too many digits."""
    return str(value) if value in INT64 else f"of {value.bit_length()} bits"
