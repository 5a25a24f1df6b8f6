"""What cannot be booked because of when it is: too late, too early, or of a clock that was never set."""

from __future__ import annotations

from ledger.events import ClockTicked, ClusterEvent, PlanCommitted, PolicySet, RunObserved
from ledger.outcomes import Refused
from ledger.state import State
from ledger.units import HOUR_S, epoch_s, instant

EARLIEST_S = 946_684_800
"""2000-01-01: an earlier node statement would open the book, and close its hours, from there on."""

FUTURE_S = HOUR_S
"""An event may be this much ahead of the instant it was recorded: clocks differ, but not by more."""


def beyond_horizon(state: State, what: str, until_s: int) -> Refused:
    """`what` speaks only of time before `until_s`, whose hours are no longer kept."""
    return Refused(
        "beyond_horizon",
        f"{what} ends {instant(until_s):%Y-%m-%d %H:%M} UTC, before the first hour still kept "
        f"({instant(state.kept_from_s):%Y-%m-%d %H:%M} UTC); to book older time, import it into a book "
        "of its own with a larger horizon",
    )


def out_of_time(event: ClusterEvent, at_s: int, recorded_s: int) -> Refused | None:
    """Why the instants the event speaks of cannot be: ahead of the record, or of a clock that was never set."""
    earliest = latest = at_s
    match event:
        case RunObserved():
            earliest = min(at_s, epoch_s(event.data.started_at))
            told = (event.data.started_at, event.data.ended_at)
            latest = max(at_s, *(epoch_s(t) for t in told if t is not None))
        case ClockTicked() | PlanCommitted():
            latest = max(at_s, epoch_s(event.data.at))
        case PolicySet() if event.data.opens_at is not None:
            earliest = min(at_s, epoch_s(event.data.opens_at))
        case _:
            pass
    if earliest < EARLIEST_S:
        return Refused(
            "clock_not_set",
            f"it speaks of {instant(earliest):%Y-%m-%d %H:%M:%S} UTC, before any cluster of GPUs; "
            "an instant of 0 often means unknown: leave it out, or set the clock of the source",
        )
    if latest <= recorded_s + FUTURE_S:
        return None
    return Refused(
        "from_the_future",
        f"it speaks of {instant(latest):%Y-%m-%d %H:%M:%S} UTC but was recorded at "
        f"{instant(recorded_s):%Y-%m-%d %H:%M:%S} UTC; check the clock and the time zone of the source",
    )
