"""The collector's work: poll, keep, send, say; and where it sends to."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from ledger.archive import DeadLetter
from ledger.units import epoch_s, epoch_us, instant
from streams.backfill import tick
from streams.kafka import StreamError
from streams.runtime.embedded import Embedded
from streams.runtime.ticking import lives
from streams.sources.config import SourceConfig
from streams.sources.reading import Unreadable
from streams.sources.slurm.live.ask import ask
from streams.sources.slurm.live.cursor import Kept
from streams.sources.slurm.live.kept import CursorFile
from streams.sources.slurm.live.port import Slurm
from streams.sources.slurm.live.step import begin, step
from streams.topics import missing
from tenure import wiring
from tenure.cli.importing import IMPORTED, as_bytes

if TYPE_CHECKING:
    from streams.kafka.producer import Publisher

TICK_S: Final = 30
QUESTIONS: Final = 4
"""The least a poll asks: jobs, what ended, nodes, reservations."""


class Sink(Protocol):
    """Where events go. Raises a StreamError where they may be sent again later, a StoreError where not."""

    place: str

    def put(self, raws: Sequence[bytes]) -> Counter[str]:
        """Send events and wait until they are kept; those the book refused, by name."""
        ...

    def keep(self, letters: Sequence[DeadLetter]) -> None:
        """Keep rows that no event could be made of."""
        ...

    def tick(self, cluster: str, at_s: int) -> None:
        """Let time pass, where nobody else does."""
        ...


class Book:
    """The book in this process, where somebody else lets time pass."""

    def __init__(self, runtime: Embedded, place: str) -> None:
        self._runtime = runtime
        self.place = place

    def put(self, raws: Sequence[bytes]) -> Counter[str]:
        outcomes = self._runtime.ingest(raws).outcomes
        return Counter({name: n for name, n in outcomes.items() if name not in {"applied", "repeated"}})

    def keep(self, letters: Sequence[DeadLetter]) -> None:
        self._runtime.keep(letters)

    def tick(self, cluster: str, at_s: int) -> None:
        pass


class TickedBook(Book):
    """The book of a collector that is alone with it."""

    def __init__(self, runtime: Embedded, place: str) -> None:
        super().__init__(runtime, place)
        self._ticked_s = 0

    def tick(self, cluster: str, at_s: int) -> None:
        state = self._runtime.processor.ledger(cluster).book.state
        if at_s >= self._ticked_s + TICK_S and lives(state, at_s):
            self._runtime.ingest([as_bytes(tick(cluster, instant(at_s)))])
            self._ticked_s = at_s


class Topics:
    """Kafka, where workers fold and tick."""

    def __init__(self, publisher: Publisher, address: str) -> None:
        self._publisher = publisher
        self.place = f"Kafka at {address}"

    def put(self, raws: Sequence[bytes]) -> Counter[str]:
        self._publisher.publish(raws)
        return Counter()

    def keep(self, letters: Sequence[DeadLetter]) -> None:
        from streams.kafka.letters import tell  # noqa: PLC0415 -- see wiring

        tell(self._publisher, letters)

    def tick(self, cluster: str, at_s: int) -> None:
        pass


@contextmanager
def topics(address: str) -> Iterator[Topics]:
    """Kafka, if it has the topics. Raises a StreamError."""
    with wiring.open_admin(address) as admin:
        absent = missing(admin.found())
    if absent:
        names = ", ".join(topic.name for topic in absent)
        raise StreamError(f"Kafka at {address} does not have the topics {names}: `tenure topics create`")
    with wiring.open_publisher(address) as publisher:
        yield Topics(publisher, address)


@dataclass(slots=True)
class Polled:
    """What one poll came to. `told` are events by type; `unsent` wait for the next poll."""

    at_s: int
    told: Counter[str]
    phases: Counter[str]
    nodes: Counter[str]
    silent: tuple[str, ...]
    letters: list[Unreadable]
    lost: list[str]
    refused: Counter[str] = field(default_factory=Counter)
    unsent: int = 0
    trouble: str = ""

    @property
    def well(self) -> bool:
        """Whether nothing needs a look."""
        return not (self.silent or self.letters or self.lost or self.refused or self.trouble)


@dataclass(slots=True)
class Collector:
    """One cluster's collector. `slurm` is made anew for every poll: its token may be another one by then."""

    config: SourceConfig
    slurm: Callable[[], Slurm]
    file: CursorFile
    sink: Sink
    since_s: int | None = None
    kept: Kept | None = None

    def poll(self, now: datetime) -> Polled:
        """Poll once. Events are on disk with the cursor that leads behind them before they are sent: what a crash
        leaves unsent is sent by the next poll, under the same ids.
        """
        at_s = epoch_s(now)
        kept = self.kept or self.file.load() or Kept(begin(at_s if self.since_s is None else self.since_s))
        asked = ask(self.slurm(), kept.cursor, self.config, at_s)
        made = step(kept.cursor, asked.poll, self.config)
        if made.letters:
            self.sink.keep([letter(row, self.config.cluster, now) for row in made.letters])
        new = tuple(as_bytes(event).decode() for event in made.events)
        self.kept = Kept(made.cursor, (*kept.outbox, *new))
        self.file.save(self.kept)
        attempts, nodes = made.cursor.attempts.values(), made.cursor.nodes.values()
        polled = Polled(
            at_s,
            told=Counter(event.type for event in made.events),
            phases=Counter(_phase(a.phase, bool(a.pauses) and a.pauses[-1][1] is None) for a in attempts),
            nodes=Counter(node.state for node in nodes),
            silent=asked.silent,
            letters=made.letters,
            lost=made.lost,
        )
        self._send(polled)
        return polled

    def _send(self, polled: Polled) -> None:
        assert self.kept is not None
        try:
            if self.kept.outbox:
                polled.refused = self.sink.put([raw.encode() for raw in self.kept.outbox])
                self.kept = self.kept.sent()
                self.file.save(self.kept)
            self.sink.tick(self.config.cluster, polled.at_s)
        except StreamError as away:
            polled.trouble = str(away)
            polled.unsent = len(self.kept.outbox)


def _phase(phase: str, paused: bool) -> str:
    return "suspended" if paused and phase == "running" else phase


def letter(row: Unreadable, cluster: str, now: datetime) -> DeadLetter:
    """A row that no event could be made of, under its bytes: the same bytes again are one letter."""
    return DeadLetter(
        topic=f"{IMPORTED}slurm/{cluster}",
        partition=zlib.crc32(row.raw),
        offset=0,
        index=0,
        cluster=cluster,
        reason=row.reason,
        sentence=row.sentence,
        raw=row.raw,
        recorded_us=epoch_us(now),
        source="slurm",
        event_id="",
    )
