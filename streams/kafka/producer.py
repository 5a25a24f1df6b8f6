"""Events into the topics, in batches: idempotent, acknowledged by every copy, in order within a key."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from kafka import KafkaProducer
from kafka.producer.future import FutureRecordMetadata

from ledger.checkpoint import Position
from streams.batches import join
from streams.intake import read
from streams.kafka.errors import FIRST_ANSWER_MS, translated
from streams.topics import LARGEST_RECORD_BYTES, route

BATCH_EVENTS: Final = 500
BATCH_BYTES: Final = 256 << 10
"""A record is closed at either. Larger ones cost no less per event, and wait longer to be read."""
IN_FLIGHT: Final = 200
"""Records handed to the client before the first is waited for."""
SEND_S: Final = 120

Progress = Callable[[int], None]
Place = tuple[str, str]
"""A topic and a key: what has an order."""


class Publisher:
    """Sends events to their topics. Threads may share it; every method may raise a StreamError."""

    def __init__(self, client: KafkaProducer, address: str) -> None:
        """Over an open client, see `publisher`."""
        self._client = client
        self._address = address

    def publish(
        self, raws: Iterable[bytes], progress: Progress | None = None, *, batch: int = BATCH_EVENTS
    ) -> Counter[str]:
        """Send events, each the bytes of one, `batch` at most to a record; how many to each topic, once all are kept.

        What cannot be read is sent as it is, so that it becomes a dead letter where it can be found.
        """
        count: Counter[str] = Counter()

        def values() -> Iterator[tuple[Place, bytes]]:
            for place, events in _records(raws, batch):
                yield place, events[0] if len(events) == 1 else join(events)
                count[place[0]] += len(events)
                if progress is not None:
                    progress(len(events))

        self._put_all(values())
        return count

    def put_all(self, topic: str, values: Iterable[tuple[str, bytes]]) -> None:
        """Send records, each a key and a value, to one topic, and wait until all are kept."""
        self._put_all(((topic, key), value) for key, value in values)

    def _put_all(self, values: Iterable[tuple[Place, bytes]]) -> None:
        sent: list[FutureRecordMetadata] = []
        with translated(self._address):
            for (topic, key), value in values:
                sent.append(self._client.send(topic, value=value, key=key.encode()))
                if len(sent) >= IN_FLIGHT:
                    _wait(sent)
            _wait(sent)

    def put(self, topic: str, partition: int | None, key: str, value: bytes) -> Position:
        """Send one record to a partition, or to that of its key, and wait until it is kept; its place."""
        with translated(self._address):
            kept = self._client.send(topic, value=value, key=key.encode(), partition=partition).get(SEND_S)
        return Position(kept.topic, kept.partition, kept.offset, 0)

    def send(self, raw: bytes) -> Position:
        """Send one event to where it belongs, and wait until it is kept; its place in the log."""
        topic, key = route(read(raw))
        return self.put(topic.name, None, key, raw)


def _wait(sent: list[FutureRecordMetadata]) -> None:
    for future in sent:
        future.get(SEND_S)
    sent.clear()


def _records(raws: Iterable[bytes], most: int) -> Iterator[tuple[Place, list[bytes]]]:
    """Events parted by topic and key, in their order, as they fill records."""
    open_: dict[Place, list[bytes]] = defaultdict(list)
    sizes: dict[Place, int] = defaultdict(int)
    for raw in raws:
        topic, key = route(read(raw))
        place = (topic.name, key)
        alone = not key or len(raw) > BATCH_BYTES
        if open_[place] and (alone or sizes[place] + len(raw) > BATCH_BYTES):
            yield place, open_.pop(place)
            sizes[place] = 0
        open_[place].append(raw)
        sizes[place] += len(raw) + 1
        if alone or len(open_[place]) >= most:
            yield place, open_.pop(place)
            sizes[place] = 0
    for place, events in open_.items():
        if events:
            yield place, events


@contextmanager
def publisher(address: str) -> Iterator[Publisher]:
    """The publisher to the broker at `address`, flushed and closed afterwards; StreamError where it does not answer."""
    with translated(address):
        client = KafkaProducer(
            bootstrap_servers=address,
            client_id="tenure",
            bootstrap_timeout_ms=FIRST_ANSWER_MS,
            acks="all",
            enable_idempotence=True,
            compression_type="zstd",
            linger_ms=5,
            max_request_size=LARGEST_RECORD_BYTES,
        )
    try:
        yield Publisher(client, address)
    finally:
        client.close()
