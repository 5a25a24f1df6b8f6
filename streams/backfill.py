"""A history in the order it would have been written live: set-up first, then by submit time, with the ticks between.

A run stands in the log before the tick that closes its first hour, because it stands where it was submitted and no
tick up to there closes an hour that had not ended. Ticks end with the one that closes the last hour with data.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ledger.events import ClusterEvent
from ledger.events.decisions import ClockTicked, ClockTickedData, GrantMade, MaintenancePlanned, PolicySet, SharesSet
from ledger.events.jobs import JobSubmitted, RunObserved
from ledger.events.nodes import NodeObserved, NodeRemoved
from ledger.policy import DEFAULT
from ledger.units import HOUR_S, epoch_s, hour_ceil_s, hour_floor_s, instant

TICK_AFTER_S: Final = 300
"""A tick so long after an hour's end closes it."""
TICK_SOURCE: Final = "tenure/backfill"
LEAP_S: Final = DEFAULT.horizon_h * HOUR_S
"""Between nothing but nodes and decisions so much time is no history, but a clock that was wrong."""


def position(event: ClusterEvent) -> tuple[int, int]:
    """Where an event belongs: (epoch second, rank among equals). A run belongs to its submission."""
    match event:
        case PolicySet():
            at = event.data.opens_at or event.time
            return (min(epoch_s(at), epoch_s(event.time)), 0)
        case NodeObserved() | NodeRemoved():
            return (epoch_s(event.time), 1)
        case SharesSet() | GrantMade() | MaintenancePlanned():
            return (epoch_s(event.time), 2)
        case RunObserved():
            started_s = epoch_s(event.data.started_at)
            submitted_at = event.data.submitted_at
            return (started_s if submitted_at is None else min(started_s, epoch_s(submitted_at)), 3)
        case JobSubmitted():
            return (epoch_s(event.time), 3)
        case _:
            return (epoch_s(event.time), 4)


def ends_s(event: ClusterEvent) -> int | None:
    """The last instant the event says anything about; None for what has no end of its own."""
    match event:
        case RunObserved():
            return epoch_s(event.data.ended_at or event.time)
        case PolicySet() | SharesSet() | GrantMade() | MaintenancePlanned() | NodeObserved() | NodeRemoved():
            return None
        case _:
            return epoch_s(event.time)


def tick(cluster: str, at: datetime) -> ClockTicked:
    """The tick at `at`, under the id `<cluster>/<at>` that the live writer gives it too."""
    name = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    data = ClockTickedData(cluster=cluster, at=at)
    return ClockTicked(id=f"{cluster}/{name}", source=TICK_SOURCE, time=at, data=data)


@dataclass(slots=True)
class _Ticker:
    """One cluster's ticks so far: hours are closed in order, each once."""

    cluster: str
    limit_s: int
    next_hour_s: int | None = None
    opened: bool = False
    last_s: int | None = None
    data_s: int | None = field(default=None)

    def before(self, event: ClusterEvent, at_s: int) -> Iterator[ClockTicked]:
        """The ticks that had been written when the event came."""
        if self.next_hour_s is None or self._leaps(self.next_hour_s, at_s):
            self.next_hour_s = hour_floor_s(at_s)
        yield from self._until(at_s)
        end_s = ends_s(event)
        if end_s is not None:
            self.data_s = end_s if self.data_s is None else max(self.data_s, end_s)

    def closing(self) -> Iterator[ClockTicked]:
        """The ticks up to the one that closes the last hour with data."""
        if self.data_s is not None:
            yield from self._until(hour_ceil_s(self.data_s) + TICK_AFTER_S)

    def _leaps(self, next_hour_s: int, at_s: int) -> bool:
        """Whether the history only begins here, the book not opened by the set-up and no job told of."""
        return not self.opened and self.data_s is None and at_s - next_hour_s > LEAP_S

    def _until(self, at_s: int) -> Iterator[ClockTicked]:
        assert self.next_hour_s is not None
        while (tick_s := self.next_hour_s + HOUR_S + TICK_AFTER_S) <= min(at_s, self.limit_s):
            yield tick(self.cluster, instant(tick_s))
            self.next_hour_s += HOUR_S


def backfill(
    *sources: Iterable[ClusterEvent],
    recorded_at: datetime,
    set_up: Iterable[ClusterEvent] = (),
) -> Iterator[ClusterEvent]:
    """The log order of several sources. `set_up` goes first; no tick is later than `recorded_at`.

    Each source may be in any order: it is sorted by reference, its events are not copied. Every cluster has its own
    ticks. An event that is a tick already is left out: the ticks here are the ones that fit this order.
    """
    tickers: dict[str, _Ticker] = {}
    limit_s = epoch_s(recorded_at)
    ordered = [sorted((e for e in source if not isinstance(e, ClockTicked)), key=position) for source in sources]
    first = list(set_up)
    yield from first
    for event in heapq.merge(*ordered, key=position):
        cluster = event.data.cluster
        ticker = tickers.get(cluster)
        if ticker is None:
            opens_s = _opening_s(first, cluster)
            ticker = tickers[cluster] = _Ticker(cluster, limit_s, opens_s, opened=opens_s is not None)
        yield from ticker.before(event, position(event)[0])
        yield event
    for cluster in sorted(tickers):
        yield from tickers[cluster].closing()


def _opening_s(set_up: list[ClusterEvent], cluster: str) -> int | None:
    """The hour in which the set-up opens the cluster's book; None where it says nothing of it."""
    for event in set_up:
        if isinstance(event, PolicySet) and event.data.cluster == cluster and event.data.opens_at is not None:
            return hour_floor_s(epoch_s(event.data.opens_at))
    return None
