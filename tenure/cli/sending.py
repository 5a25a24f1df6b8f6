"""`tenure ingest --to kafka`: the same history, sent to the topics instead of folded here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ledger.archive import DeadLetter
from ledger.checkpoint import by_cluster
from ledger.facts import decode
from ledger.state import State
from ledger.store.errors import StoreBusy
from ledger.store.protocol import Store
from streams.kafka import StreamError
from streams.topics import DEAD_LETTERS, missing
from tenure import wiring
from tenure.cli import importing, output
from tenure.cli.brokers import broker, home_of
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.kafka.producer import Publisher


class Sent(NamedTuple):
    """What went where: events by topic, how many were ticks, and where rows that no event could be made of are kept."""

    address: str
    topics: Counter[str]
    ticks: int
    seconds: float
    letters: int
    letters_kept: str


Warn = Callable[[list[importing.File], Mapping[str, State]], None]


def send(
    files: list[importing.File],
    how: importing.Source | None,
    owner: str,
    data: Path | None,
    settings: Settings,
    warn: Warn,
) -> Sent:
    """Send everything the files say. Dead letters first, so that a crash between loses no row.

    `warn` is told the files and the clusters as they are known, before anything is sent.
    """
    address, now = broker(settings), wiring.clock()
    letters = [letter for file in files for letter in importing.letters(file, owner, now)]
    with wiring.open_admin(address) as admin:
        absent = missing(admin.found())
        if absent:
            names = ", ".join(topic.name for topic in absent)
            raise StreamError(f"Kafka at {address} does not have the topics {names}: `tenure topics create`")
        home = admin.home()
    with wiring.open_publisher(address) as publisher:
        with _fed_from(home, wiring.place(data, settings)) as store:
            known = _known(store)
            warn(files, known)
            kept = _keep(letters, store, publisher)
        begun_s = wiring.monotonic_s()
        topics, ticks = _publish(publisher, files, how, known, now)
    return Sent(address, topics, ticks, wiring.monotonic_s() - begun_s, len(letters), kept)


@contextmanager
def _fed_from(home: str, place: wiring.Place) -> Iterator[Store | None]:
    """The store that this Kafka feeds, if it is here and can be opened: it knows the clusters. None is no fault."""
    if place.server is None and not place.book.exists():
        yield None
        return
    with ExitStack() as stack:
        store: Store | None = None
        try:
            store = stack.enter_context(wiring.open_store(place))
        except StoreBusy:
            output.note(f"The book at {place} is open elsewhere: nothing is known of what it holds.")
        there = home_of(store) if store is not None else ""
        if there not in {"", home}:
            output.note(f"The log of the book at {place} is in {there}: nothing of it is used.")
            store = None
        yield store


def _known(store: Store | None) -> dict[str, State]:
    """The clusters as of their checkpoints."""
    if store is None:
        return {}
    found = by_cluster(store.checkpoints(store.live_generation()))
    return {name: decode(checkpoint.facts) for name, checkpoint in found.items()}


def _keep(letters: list[DeadLetter], store: Store | None, publisher: Publisher) -> str:
    """Keep rows that no event could be made of; where."""
    from streams.kafka.letters import tell  # noqa: PLC0415 -- see wiring

    if store is not None:
        store.write_dead_letters(letters)
        return "the store"
    tell(publisher, letters)
    return DEAD_LETTERS.name


def _publish(
    publisher: Publisher,
    files: list[importing.File],
    how: importing.Source | None,
    known: dict[str, State],
    now: datetime,
) -> tuple[Counter[str], int]:
    counter = importing.Ticks()
    with output.bars() as bars:
        bar = bars.bar("Sending to Kafka", importing.expected(files))
        topics = publisher.publish(counter.count(importing.ordered(files, how, known, now)), bar.advance)
        bar.done()
    return topics, counter.ticks
