"""A whole look of the enforcer at a full cluster's book: standing, queue, snapshot, plans, and the tick before it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from random import Random
from statistics import quantiles
from time import perf_counter
from typing import Final

from bench.cluster import CLUSTER, OPENS, TEAMS, checkpointed, setup, started, submitted, tick
from bench.report import Figure, Line
from enforcer.protocol import due
from enforcer.rules import rules_of
from ledger.book import Book
from ledger.events import ClusterEvent
from ledger.units import epoch_s

SIZES: Final = (1, 1, 2, 4, 8)
"""GPUs of a job."""
BUSY_TEAMS: Final = 17
"""So many of the 25 teams have all there is; everybody asks."""
BEGUN_H: Final = 170
"""How long the cluster has been full: the window of the ranking is."""


def a_book(passes: int = 10) -> Iterator[Line]:
    """How long the enforcer takes from a tick to what it writes."""
    for (nodes, pending), saved in product(((128, 1_000), (1_250, 10_000)), (True, False)):
        book = _full(nodes, pending, saved=saved)
        ticking, looking = [], []
        made = 0
        for n in range(passes):
            now = OPENS + timedelta(hours=BEGUN_H, seconds=30 * (n + 1))
            begun = perf_counter()
            _take(book, tick(now))
            ticked = perf_counter()
            made += len(due(book.state, epoch_s(now), rules_of(book.state.policy_at(epoch_s(now)))).acts)
            ticking.append((ticked - begun) * 1000)
            looking.append((perf_counter() - ticked) * 1000)
        cuts = quantiles(looking, n=100, method="inclusive")
        note = f"p50 {cuts[49]:,.0f} ms, {made / passes:,.1f} plans, after a tick of {quantiles(ticking)[1]:,.0f} ms"
        what = "" if saved else ", nobody can yield"
        name = f"a look at a book, {nodes * 8:,} GPUs, {pending:,} pending{what}: p99"
        yield Figure(name, cuts[98], "ms", None, less=True, note=note)


def _full(nodes: int, pending: int, *, saved: bool) -> Book:
    """All GPUs in use by resumable work outside its contract, a week's hours closed, and many that wait.

    Saved an hour ago, or never: then all have more to lose than anybody gains.
    """
    book, dice = Book(CLUSTER), Random(1)
    for event in setup(nodes):
        _take(book, event)
    job = 0
    for node in range(nodes):
        free = 8
        while free:
            job += 1
            if job % TEAMS >= BUSY_TEAMS:
                continue
            gpus = min(free, dice.choice(SIZES))
            free -= gpus
            for event in (submitted(job, OPENS, gpus), started(job, OPENS, node, gpus)):
                _take(book, event)
    for hours in range(1, BEGUN_H + 1):
        _take(book, tick(OPENS + timedelta(hours=hours)))
    asked = OPENS + timedelta(hours=BEGUN_H - 1)
    for running in sorted(book.state.live) if saved else ():
        _take(book, checkpointed(running, asked))
    for _ in range(pending):
        job += 1
        _take(book, submitted(job, asked, dice.choice(SIZES)))
    return book


def _take(book: Book, event: ClusterEvent) -> None:
    book.apply(event, epoch_s(event.time))
    book.take()
