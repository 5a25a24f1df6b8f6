"""Kafka to committed rows: our worker, its peers, Faust doing nothing, and the bound, in turn over the same topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.kafka import load, peers, stage
from bench.kafka.peers import Absent
from bench.report import Figure, Line, Missing
from deploy.kafka.node import Node
from tests.support.clickhouse import ClickHouseServer


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a round is run: `records` in the topic, `events` of them at most to be taken; `name` is new each time."""

    node: Node
    server: ClickHouseServer
    until: dict[str, int]
    events: int
    batch: int
    name: str

    @property
    def records(self) -> int:
        return self.events // self.batch

    @property
    def store(self) -> str:
        """An address in which nothing is yet."""
        return f"{self.server.address}/{self.name}"


Run = Callable[[Ground], dict[str, Any]]


@dataclass(slots=True)
class Contestant:
    """`part`: of the load it is given, where it is too slow for all of it."""

    name: str
    run: Run
    part: float = 1.0
    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    trouble: str = ""

    def go(self, ground: Ground) -> None:
        """Run one round, and keep what it came to."""
        if self.trouble:
            return
        try:
            said = self.run(ground)
        except (Absent, RuntimeError) as wrong:
            self.trouble = str(wrong)
            return
        self.rates.append(said["events"] / said["wall_s"])
        self.cpu_us.append(said["cpu_s"] / said["events"] * 1e6)

    @property
    def rate(self) -> float:
        return median(self.rates)

    @property
    def cpu(self) -> float:
        """Microseconds an event, of all threads of its process."""
        return median(self.cpu_us)

    def line(self, of: str, ours: Contestant) -> Line:
        """What it came to with that load; the spread is told, since the machine may not be quiet, and so is CPU."""
        if self.trouble:
            return Missing(f"{of}: {self.name}", self.trouble)
        told = [f"{min(self.rates):,.0f} to {max(self.rates):,.0f}", f"{self.cpu:,.1f} µs of CPU an event"]
        if ours.rates and ours is not self:
            told.append(f"ours is {ours.rate / self.rate:.2f} ×, by CPU {self.cpu / ours.cpu:.2f} ×")
        return Figure(f"{of}: {self.name}", self.rate, "events/s", None, note="; ".join(told))


def ours(server: bool) -> Run:
    """Our worker, the store over HTTP or in its own process."""

    def run(ground: Ground) -> dict[str, Any]:
        until = dict.fromkeys(ground.until, ground.records)
        where = {"server": ground.store} if server else {}
        task = {"address": ground.node.address, "group": ground.name, "until": until, **where}
        return stage.said_by(stage.PYTHON, "bench.kafka.worker", json.dumps(task))

    return run


def bound(ground: Ground) -> dict[str, Any]:
    return stage.said_by(stage.PYTHON, "bench.kafka.bound", ground.node.address, str(ground.events))


def faust(what: str, *, by_event: bool) -> Run:
    """A Faust app; those that do nothing count records, not events."""

    def run(ground: Ground) -> dict[str, Any]:
        count = str(ground.events if by_event else ground.records)
        return stage.said_by(stage.PYTHON, "bench.kafka.faust_app", what, ground.node.address, count, ground.name)

    return run


def quix(*, rows: bool) -> Run:
    """Quix Streams; `rows`: they are written to the store."""
    return lambda ground: stage.said_by(
        peers.python(),
        "bench.kafka.quix_app",
        ground.node.address,
        str(ground.records),
        ground.name,
        ground.store if rows else "",
    )


def bytewax(what: str, *, rows: bool) -> Run:
    """Bytewax reads the topic to its end."""
    return lambda ground: stage.said_by(
        peers.python(), "bench.kafka.bytewax_app", what, ground.node.address, ground.store if rows else ""
    )


BOUND, WORKER, NOTHING = "bound: aiokafka and pydantic", "our worker", "Faust doing nothing"
TABLE, QUIX, BYTEWAX = "plain Faust app, a table", "Quix Streams, state", "Bytewax, state"


def contestants() -> list[Contestant]:
    """In the order of a round."""
    return [
        Contestant(BOUND, bound),
        Contestant(WORKER, ours(server=True)),
        Contestant("our worker, chDB in its process", ours(server=False)),
        Contestant(TABLE, faust("table", by_event=True), part=0.25),
        Contestant(QUIX, quix(rows=False)),
        Contestant(f"{QUIX}, rows written", quix(rows=True)),
        Contestant(BYTEWAX, bytewax("keeps", rows=False)),
        Contestant(f"{BYTEWAX}, rows written", bytewax("keeps", rows=True)),
        Contestant("Bytewax, keeps nothing", bytewax("map", rows=False)),
    ]


def throughput(batched: int = 150_000, single: int = 30_000, rounds: int = 3) -> Iterator[Line]:
    """So many events with 500 a record, then with one a record, where Faust's own cost of a record is shown too."""
    many = held(contestants(), load.life(batched), load.BATCH, rounds)
    yield from lines("500 a record", many)
    yield from aims("500 a record", many, {BOUND: 0.4, TABLE: 10, QUIX: 1, BYTEWAX: 1})
    idle = [
        Contestant(NOTHING, faust("nothing", by_event=False)),
        Contestant("Faust doing nothing with 500", faust("taking", by_event=False)),
    ]
    one = held([*contestants(), *idle], load.life(single), 1, rounds)
    yield from lines("one a record", one)
    yield from aims("one a record", one, {NOTHING: 1})
    if many[WORKER].rates and one[TABLE].rates:
        ratio = many[WORKER].rate / one[TABLE].rate
        yield Figure("ours with 500 a record to plain Faust with one", ratio, "×", None)


def ticking(events: int = 80_000, rounds: int = 3) -> Iterator[Line]:
    """The load as a worker would have written it, a tick every 30 seconds: provisional rows in every batch."""
    both = [Contestant(BOUND, bound), Contestant(WORKER, ours(server=True))]
    found = held(both, load.life(events, tick_s=load.LIVE_TICK_S), load.BATCH, rounds)
    yield from lines("500 a record, ticks of 30 s", found)


def held(entered: Sequence[Contestant], raws: Sequence[bytes], batch: int, rounds: int) -> dict[str, Contestant]:
    """Every contestant once a round, so that what else the machine does falls on all of them."""
    with stage.broker() as node, stage.server() as server:
        stage.fill(node.address, load.records(raws, "bench", batch))
        until = stage.ends(node.address)
        for turn in range(rounds):
            for place, contestant in enumerate(entered):
                events = int(len(raws) * contestant.part) // batch * batch
                contestant.go(Ground(node, server, until, events, batch, f"r{turn}c{place}"))
    return {contestant.name: contestant for contestant in entered}


def lines(of: str, found: dict[str, Contestant]) -> Iterator[Line]:
    return (contestant.line(of, found[WORKER]) for contestant in found.values())


def aims(of: str, found: dict[str, Contestant], wanted: dict[str, float]) -> Iterator[Line]:
    """Our worker over those it was to be held against."""
    for name, aim in wanted.items():
        if found[name].rates and found[WORKER].rates:
            yield Figure(f"{of}: ours to {name}", found[WORKER].rate / found[name].rate, "×", aim)
