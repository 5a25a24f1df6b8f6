"""Writing into the log of a book wherever that is: here, or in Kafka, where workers fold it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ledger.checkpoint import Position, by_cluster
from ledger.facts import decode
from ledger.state import State
from ledger.store.clickhouse import ClickHouse
from streams.runtime.embedded import Embedded
from streams.topics import LOGS
from tenure import wiring
from tenure.cli import output
from tenure.cli.brokers import fed, feeding
from tenure.cli.queries import read
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.kafka.producer import Publisher

LOOK_S: Final = 0.5
"""How often the checkpoints are looked at."""
SENT: Final = "sent"
PASSED: Final = {"applied", "repeated", "taken"}
"""Names of outcomes that are no refusals. From Kafka it is only known that an event was taken."""


class Outcome(NamedTuple):
    """What became of an event: applied, repeated, taken, sent and not yet folded, or a refusal with its sentence."""

    name: str
    sentence: str = ""

    @property
    def refused(self) -> bool:
        """Whether it is a dead letter."""
        return self.name not in PASSED and self.name != SENT


class Pen(Protocol):
    """Writes into the log. `place` says where that is."""

    @property
    def place(self) -> str: ...

    def state(self, cluster: str) -> State:
        """The facts decisions are judged against."""
        ...

    def write(self, raws: Sequence[bytes]) -> list[Outcome]:
        """Write events in their order; what became of each."""
        ...


@contextmanager
def open_pen(store: ClickHouse, place: wiring.Place, settings: Settings) -> Iterator[Pen]:
    """The pen for the book's log. Raises a StoreError or a StreamError."""
    if not fed(store):
        with wiring.open_runtime(store, place) as runtime:
            yield Here(runtime, str(place))
        return
    with feeding(store, settings) as address, wiring.open_publisher(address) as publisher:
        # A folder is this process's now, so no worker can fold meanwhile.
        await_s = settings.kafka.await_s if place.server is not None else 0.0
        yield InKafka(store, publisher, f"Kafka at {address}", await_s)


class Here:
    """The embedded runtime's log: what is written is folded."""

    def __init__(self, runtime: Embedded, place: str) -> None:
        self._runtime = runtime
        self.place: Final = place

    def state(self, cluster: str) -> State:
        return self._runtime.processor.ledger(cluster).book.state

    def write(self, raws: Sequence[bytes]) -> list[Outcome]:
        return [self._write(raw) for raw in raws]

    def _write(self, raw: bytes) -> Outcome:
        (name,) = (name for name, n in self._runtime.ingest([raw]).outcomes.items() if n)
        return Outcome(name)


class InKafka:
    """The log in Kafka: what is written is sent, and folded by a worker, whose checkpoints tell how far it is."""

    def __init__(self, store: ClickHouse, publisher: Publisher, place: str, await_s: float) -> None:
        self._store = store
        self._publisher = publisher
        self._await_s = await_s
        self.place: Final = place

    def state(self, cluster: str) -> State:
        checkpoints = by_cluster(self._store.checkpoints(self._store.live_generation()))
        return decode(checkpoints[cluster].facts) if cluster in checkpoints else State(cluster)

    def write(self, raws: Sequence[bytes]) -> list[Outcome]:
        places = [self._publisher.send(raw) for raw in raws]
        folded = self._awaited(places)
        letters = self._letters(places) if folded else {}
        return [letters.get(at, Outcome("taken" if at in folded else SENT)) for at in places]

    def _awaited(self, places: list[Position]) -> set[Position]:
        """The places that checkpoints have passed by now or within the time there is."""
        logged = [at for at in places if at.topic in {topic.name for topic in LOGS}]
        until_s = wiring.monotonic_s() + self._await_s
        if logged and self._await_s:
            output.note(f"Sent to {self.place}; it is in the book with the worker's next checkpoint.")
        while True:
            rows = self._store.query(read("folded")).rows
            ends = {(str(topic), int(str(number))): int(str(offset)) for topic, number, offset in rows}
            folded = {at for at in logged if at.offset <= ends.get((at.topic, at.partition), -1)}
            if len(folded) == len(set(logged)) or wiring.monotonic_s() >= until_s:
                return folded
            wiring.pause(LOOK_S)

    def _letters(self, places: list[Position]) -> dict[Position, Outcome]:
        """Those of the places that are dead letters."""
        offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
        for at in places:
            offsets[at.topic, at.partition].append(at.offset)
        return {
            Position(topic, number, int(str(offset)), int(str(index))): Outcome(str(reason), str(sentence))
            for (topic, number), among in offsets.items()
            for offset, index, reason, sentence in self._store.query(
                read("letters_at"), {"topic": topic, "partition": number, "offsets": among}
            ).rows
        }
