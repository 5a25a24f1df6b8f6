"""The fold alone: events that touch no closed hour, corrections, closing an hour, memory; CPU seconds of one core."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from datetime import timedelta
from time import process_time

from bench import cluster
from bench.report import Figure
from ledger.book import Book
from ledger.events import EVENT, ClusterEvent
from ledger.outcomes import Applied
from ledger.units import epoch_s
from streams.runtime.collector import calm

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def opened(nodes: int = cluster.NODES) -> Book:
    """A book with nodes and shares, the collector calmed as a runtime does."""
    calm()
    book = Book(cluster.CLUSTER)
    apply(book, cluster.setup(nodes))
    return book


def apply(book: Book, events: Iterable[ClusterEvent]) -> int:
    """Apply events as they were recorded; all must change something."""
    count = 0
    for event in events:
        assert event.recordedtime is not None
        outcome = book.apply(event, epoch_s(event.recordedtime))
        assert isinstance(outcome, Applied), outcome
        count += 1
    return count


def full(book: Book, runs: int = cluster.NODES * 8) -> None:
    """Every GPU taken by a run of its own that goes on and on."""
    apply(book, (cluster.submitted(n, cluster.OPENS) for n in range(runs)))
    apply(book, (cluster.started(n, cluster.OPENS + timedelta(seconds=1), n // 8) for n in range(runs)))
    book.take()


def no_closed_hour(jobs: int = 40_000) -> Figure:
    """Submit, start, end within the open hour, rows not taken: the path every live event goes."""
    book = opened()
    apply(book, [cluster.tick(cluster.OPENS + 2 * HOUR + timedelta(minutes=5))])
    events = list(cluster.churn(jobs, cluster.OPENS + 2 * HOUR + timedelta(minutes=6)))
    calm()
    begin = process_time()
    apply(book, events)
    fold_s = process_time() - begin
    return Figure("events that touch no closed hour", len(events) / fold_s, "events/s", 100_000)


def with_rows(jobs: int = 20_000) -> Figure:
    """The same, with readings made and rows of runs and jobs taken every 20,000 events."""
    book = opened()
    events = list(cluster.churn(jobs, cluster.OPENS + timedelta(minutes=6)))
    begin = process_time()
    for place in range(0, len(events), 20_000):
        apply(book, events[place : place + 20_000])
        book.take()
    return Figure("the same with rows of runs and jobs", len(events) / (process_time() - begin), "events/s", None)


def corrections(jobs: int = 8_000) -> Figure:
    """Ends that come an hour late: each moves one closed hour of one node and one account."""
    book = opened()
    full(book)
    apply(book, [cluster.tick(cluster.OPENS + HOUR + timedelta(minutes=5))])
    book.take()
    late = cluster.OPENS + HOUR + timedelta(minutes=6)
    events = [cluster.ended(n, cluster.OPENS + timedelta(minutes=30, seconds=n % 60), late) for n in range(jobs)]
    begin = process_time()
    apply(book, events)
    return Figure("corrections of a closed hour", len(events) / (process_time() - begin), "events/s", 10_000)


def closing() -> Figure:
    """An hour of 1,250 full nodes (10,000 runs) and 500 accounts."""
    book = opened()
    full(book)
    apply(book, [cluster.tick(cluster.OPENS + HOUR + timedelta(minutes=5))])
    book.take()
    event = cluster.tick(cluster.OPENS + 2 * HOUR + timedelta(minutes=5))
    assert event.recordedtime is not None
    begin = process_time()
    book.apply(event, epoch_s(event.recordedtime), last_tick=False)
    return Figure("closing an hour of 10,000 GPUs and 500 accounts", process_time() - begin, "s", 0.5, less=True)


def bytes_to_facts(jobs: int = 30_000) -> list[Figure]:
    """Decoding alone (the bound), and decoding with the fold."""
    at = cluster.OPENS + timedelta(minutes=6)
    raws = [e.model_dump_json().encode() for e in cluster.churn(jobs, at)]
    begin = process_time()
    for raw in raws:
        EVENT.validate_json(raw)
    bound = len(raws) / (process_time() - begin)
    book = opened()
    begin = process_time()
    for raw in raws:
        event = EVENT.validate_json(raw)
        book.apply(event, epoch_s(event.recordedtime))  # type: ignore[arg-type]
    both = len(raws) / (process_time() - begin)
    return [
        Figure("bound: pydantic decoding alone", bound, "events/s", None),
        Figure("bytes to facts", both, "events/s", 60_000, of=("decoding alone", both / bound)),
    ]


def memory(days: int = 35, runs: int = 20_000) -> Figure:
    """10,000 GPUs, 20,000 known runs of 8 GPUs, a day each, 35 days of closed hours; peak of this process."""
    book = opened()
    hours = days * 24
    for hour in range(hours):
        at = cluster.OPENS + hour * HOUR
        for number in range(hour * runs // hours, (hour + 1) * runs // hours):
            apply(
                book,
                [cluster.submitted(number, at, 8), cluster.started(number, at + SECOND, number % cluster.NODES, 8)],
            )
        for number in range((hour - 24) * runs // hours, (hour - 23) * runs // hours):
            if number >= 0:
                apply(book, [cluster.ended(number, at + SECOND)])
        event = cluster.tick(at + HOUR + timedelta(minutes=5))
        assert event.recordedtime is not None
        book.apply(event, epoch_s(event.recordedtime), last_tick=False)
        book.take()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert epoch_s(cluster.OPENS) in book.state.hours
    return Figure(f"memory: {len(book.state.jobs):,} runs known, 35 days kept", peak, "MiB", 1_024, less=True)
