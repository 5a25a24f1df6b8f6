"""Events into the topics, in batches: idempotent, acknowledged by every copy, in order within a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from kafka import KafkaProducer
from kafka.producer.future import FutureRecordMetadata

from streams.batches import join
from streams.intake import read
from streams.kafka.errors import translated
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

    def publish(self, raws: Iterable[bytes], progress: Progress | None = None, *, batch: int = BATCH_EVENTS) -> int:
        """Send events, each the bytes of one, `batch` at most to a record; returns how many, once all are kept.

        What cannot be read is sent as it is, so that it becomes a dead letter where it can be found.
        """
        count = 0
        with translated(self._address):
            sent: list[FutureRecordMetadata] = []
            for (topic, key), events in _records(raws, batch):
                value = events[0] if len(events) == 1 else join(events)
                sent.append(self._client.send(topic, value=value, key=key.encode()))
                count += len(events)
                if progress is not None:
                    progress(len(events))
                if len(sent) >= IN_FLIGHT:
                    _wait(sent)
            _wait(sent)
        return count

    def put(self, topic: str, partition: int, key: str, value: bytes) -> None:
        """Send one record to a partition, and wait until it is kept."""
        with translated(self._address):
            self._client.send(topic, value=value, key=key.encode(), partition=partition).get(SEND_S)


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
