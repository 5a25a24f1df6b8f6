"""What a command works at: the open book, with the settings that hold for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from ledger.checkpoint import Checkpoint, Partition, by_cluster
from ledger.decisions import DecisionEvent, judge
from ledger.facts import decode
from ledger.state import State
from ledger.store.clickhouse import ClickHouse
from streams.runtime.embedded import LOG, Embedded
from streams.runtime.keeper import without_checkpoint
from streams.sources.reading import AnyEvent
from tenure import wiring
from tenure.cli import exits, output
from tenure.cli.brokers import fed
from tenure.cli.figures import number
from tenure.cli.pens import SENT, Pen, open_pen
from tenure.cli.queries import read
from tenure.cli.text import count, moment, plural
from tenure.config import Settings

HOW_TO_FILL: Final = "fill it with `tenure demo`, or with `tenure ingest FILE...`"
HOW_TO_FOLD: Final = "nothing of its log in Kafka is folded yet: `tenure worker` does that"
SOURCE: Final = "tenure/cli"
"""Whose events decisions are that people make by commands."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An open book that is not empty. `checkpoints` are those of its clusters, by name."""

    store: ClickHouse
    place: wiring.Place
    settings: Settings
    generation: str
    checkpoints: dict[str, Checkpoint]

    def cluster(self, named: str | None) -> str:
        """The cluster meant: the one named, else the configured one, else the only one there is."""
        wanted = named or self.settings.cluster
        known = sorted(self.checkpoints)
        if wanted is None and len(known) == 1:
            return known[0]
        if wanted is None:
            raise exits.Stop(f"the book has several clusters: say --cluster with one of {', '.join(known)}")
        if wanted not in self.checkpoints:
            raise exits.Stop(f"the book knows no cluster {wanted!r}, only {', '.join(known)}", exits.NOTHING)
        return wanted

    def clusters(self, named: str | None) -> list[str]:
        """The cluster named, or all."""
        return [self.cluster(named)] if named or self.settings.cluster else sorted(self.checkpoints)

    def state(self, cluster: str) -> State:
        """The facts of a cluster at its last checkpoint."""
        return decode(self.checkpoints[cluster].facts)

    def watermarks(self) -> dict[str, object]:
        """The last tick of each cluster: what the numbers are true at; null before the first one."""
        return {name: output.iso_s(c.ticked_s or None) for name, c in self.checkpoints.items()}

    def as_of(self, *clusters: str) -> str:
        """The sentence under a table that says how far it is true."""
        chosen = [(name, self.checkpoints[name].ticked_s) for name in clusters or sorted(self.checkpoints)]
        ticked = ", ".join(f"{moment(ticked_s)} UTC ({name})" for name, ticked_s in chosen if ticked_s)
        still = ", ".join(name for name, ticked_s in chosen if not ticked_s)
        return " ".join([f"True at {ticked}."] * bool(ticked) + [f"Nothing is closed yet ({still})."] * bool(still))

    def author(self, named: str | None) -> str:
        """Who decides: as named, else as configured, else who is logged in."""
        return named or self.settings.author or wiring.login()


@contextmanager
def open_place(
    data: Path | None, config: Path | None, *, create: bool = False
) -> Iterator[tuple[ClickHouse, wiring.Place, Settings]]:
    """The store, empty or not; unless `create`, stops where there is none."""
    settings = wiring.load_settings(config)
    place = wiring.place(data, settings)
    if not create and place.server is None and not place.book.exists():
        raise exits.Stop(f"there is no book at {place}: {HOW_TO_FILL}", exits.NOTHING)
    with wiring.open_store(place) as store:
        yield store, place, settings


@contextmanager
def reading(data: Path | None, config: Path | None) -> Iterator[Desk]:
    """The book for reading; what an interrupted command left in the log is folded first, unless workers do that."""
    with open_place(data, config) as (store, place, settings):
        behind, in_kafka = unfolded(store), fed(store)
        if behind and not in_kafka:
            _fold_on(store, place)
        found = desk(store, place, settings)
        if in_kafka:
            more = f", {plural(behind, 'record')} of its log come after it" if behind else ""
            output.note(f"As of the last checkpoint of the workers{more}.")
        yield found


@contextmanager
def writing(data: Path | None, config: Path | None) -> Iterator[tuple[Desk, Pen]]:
    """The book for writing."""
    with open_place(data, config) as (store, place, settings):
        if not fed(store):
            _say_what_is_lost(store)
        with open_pen(store, place, settings) as pen:
            yield desk(store, place, settings), pen


@contextmanager
def folding(store: ClickHouse, place: wiring.Place) -> Iterator[Embedded]:
    """The book for whoever folds it in this process; stops where workers do."""
    if fed(store):
        raise exits.Stop(
            f"the book at {place} is fed from Kafka, and only workers write there: `tenure ingest --to kafka`, "
            "or name another book with --data"
        )
    _say_what_is_lost(store)
    with wiring.open_runtime(store, place) as runtime:
        yield runtime


def decide(pen: Pen, *events: DecisionEvent) -> None:
    """Take decisions into the book one after another; stops where one is refused, before it is written."""
    for event in events:
        check(pen, event)
        send(pen, event)
    output.note(f"Kept in the log of {pen.place}.")


def check(pen: Pen, event: DecisionEvent) -> None:
    """Stop with the reason where the book would refuse the decision."""
    refused = judge(pen.state(event.data.cluster), event)
    if refused is not None:
        raise exits.Stop(f"refused ({refused.name}): {refused.sentence}. Nothing was written.", exits.FINDINGS)


def send(pen: Pen, event: AnyEvent) -> None:
    """One event into the log and the book; stops where the book refuses it all the same, or nobody has folded it."""
    (outcome,) = pen.write([event.model_dump_json(exclude_none=True).encode()])
    if outcome.refused:
        why = f": {outcome.sentence}" if outcome.sentence else ""
        told = f"refused ({outcome.name}){why}; it is kept, see `tenure dead-letters list`"
        raise exits.Stop(told, exits.FINDINGS)
    if outcome.name == SENT:
        raise exits.Stop(
            f"sent to {pen.place} as {event.id}, and not yet folded: it counts once a worker has folded it "
            "(`tenure worker`); nothing else was sent",
            exits.FINDINGS,
        )


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless `--yes` answers; stops on no, and where nobody is there to be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise exits.Stop("nothing was written: say --yes to decide it without being asked")
    if not typer.confirm(question):
        raise exits.Stop("nothing was written", exits.DONE)


def desk(store: ClickHouse, place: wiring.Place, settings: Settings) -> Desk:
    """The desk over an open store; stops where its book is empty."""
    generation = store.live_generation()
    checkpoints = by_cluster(store.checkpoints(generation))
    if not checkpoints:
        if lost := lost_books(store):
            raise exits.Stop(f"{lost}: start the workers again, and they fold it anew", exits.NOTHING)
        how = HOW_TO_FOLD if fed(store) else HOW_TO_FILL
        raise exits.Stop(f"the book at {place} is empty: {how}", exits.NOTHING)
    return Desk(store, place, settings, generation, checkpoints)


def unfolded(store: ClickHouse) -> int:
    """Records in the log behind the last checkpoints; all of a partition where a cluster's checkpoint is lost."""
    folded, held = _offsets(store, "folded"), _offsets(store, "log_ends")
    lost = {partition for partition, _ in without_checkpoint(store, store.live_generation())}
    known = {partition: -1 if partition in lost else offset for partition, offset in folded.items()}
    return sum(end - known.get(partition, -1) for partition, end in held.items())


def _offsets(store: ClickHouse, query: str) -> dict[Partition, int]:
    """An offset by partition, as a query tells it."""
    return {Partition(str(topic), number(at)): number(offset) for topic, at, offset in store.query(read(query)).rows}


def lost_books(store: ClickHouse) -> str:
    """That clusters have lost their checkpoints, in words; '' where none has."""
    lost = without_checkpoint(store, store.live_generation())
    if lost:
        return "; ".join(
            f"{name}: the log holds {plural(n, 'record')} and no checkpoint" for (_, name), n in lost.items()
        )
    folded = store.query(read("folded")).rows
    records = store.last_offset(*LOG) + 1
    return f"the log holds {plural(records, 'record')} and no checkpoint" if records and not folded else ""


def _say_what_is_lost(store: ClickHouse) -> bool:
    """Whoever folds next begins at the log's beginning where a checkpoint is lost; say so."""
    lost = lost_books(store)
    if lost:
        output.note(f"{lost}: it is folded anew.", style="yellow")
    return bool(lost)


def _fold_on(store: ClickHouse, place: wiring.Place) -> None:
    lost = _say_what_is_lost(store)
    with wiring.open_runtime(store, place) as runtime:
        records = runtime.resumed.records
    if not lost:
        output.note(f"Folded {plural(records, 'record')} that an interrupted command had left in the log.")


def ticked(desk_: Desk, cluster: str) -> str:
    """The cluster's last tick and how many facts its book is made of."""
    checkpoint = desk_.checkpoints[cluster]
    when = f"{moment(checkpoint.ticked_s)} UTC" if checkpoint.ticked_s else "nothing closed yet"
    return f"{when}, {count(checkpoint.seq)} facts"
