"""What an import has shown of its clusters, as far as what must stand before it depends on that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ledger.events import ClusterEvent
from ledger.events.jobs import JobSubmitted, RunObserved
from ledger.events.nodes import NodeObserved
from ledger.units import epoch_s


@dataclass(slots=True)
class ClusterHistory:
    """One cluster. `listed` are nodes as a node list first states them: what a list knows only of its own instant."""

    first_s: int | None = None
    last_s: int | None = None
    accounts: set[str] = field(default_factory=set)
    listed: dict[str, NodeObserved] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    runs: dict[tuple[str, str], RunObserved] = field(default_factory=dict)

    def run(self, event: RunObserved) -> None:
        """Note a run; of several statements one of its end counts, else the one that is latest by its time."""
        data = event.data
        first_s = epoch_s(data.started_at)
        if data.submitted_at is not None:
            first_s = min(first_s, epoch_s(data.submitted_at))
        self._span(first_s, epoch_s(data.ended_at or event.time))
        self._account(data.account)
        key = (data.job, data.attempt)
        before = self.runs.get(key)
        if before is None or _finality(before) <= _finality(event):
            self.runs[key] = event

    def job(self, event: JobSubmitted) -> None:
        """Note a job that waits."""
        self._span(epoch_s(event.time), epoch_s(event.time))
        self._account(event.data.account)

    def node(self, event: NodeObserved, *, listed: bool) -> None:
        """Note a node, and what the first list says of it. Its hours are closed up to there, so they are to be kept."""
        name, at_s = event.data.node, epoch_s(event.time)
        self.last_s = at_s if self.last_s is None else max(self.last_s, at_s)
        self.stated.add(name)
        if listed and (name not in self.listed or event.time < self.listed[name].time):
            self.listed[name] = event

    def _account(self, account: str | None) -> None:
        if account is not None:
            self.accounts.add(account)

    def _span(self, first_s: int, last_s: int) -> None:
        self.first_s = first_s if self.first_s is None else min(self.first_s, first_s)
        self.last_s = last_s if self.last_s is None else max(self.last_s, last_s)


def _finality(event: RunObserved) -> tuple[bool, float]:
    """As the book takes statements of one run: that it ended beats that it runs, whatever their times."""
    return event.data.ended_at is not None, event.time.timestamp()


@dataclass(slots=True)
class History:
    """What an import has shown so far, cluster by cluster."""

    clusters: dict[str, ClusterHistory] = field(default_factory=lambda: defaultdict(ClusterHistory))

    def see(self, event: ClusterEvent, *, listed: bool = True) -> None:
        """Take note of one event. `listed` False: what it says of a node is from a log, which knows when that began."""
        match event:
            case RunObserved():
                self.clusters[event.data.cluster].run(event)
            case JobSubmitted():
                self.clusters[event.data.cluster].job(event)
            case NodeObserved():
                self.clusters[event.data.cluster].node(event, listed=listed)
            case _:
                pass


def seen(events: Iterable[ClusterEvent], history: History, *, listed: bool = True) -> Iterator[ClusterEvent]:
    """Pass the events on, noted in the history."""
    for event in events:
        history.see(event, listed=listed)
        yield event
