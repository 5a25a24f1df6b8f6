"""The log as Kafka has it, read from its beginning by a plain consumer that belongs to no group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from ledger.checkpoint import Partition
from streams.batches import split
from streams.intake import Record, record
from streams.kafka import StreamError
from streams.kafka.errors import FIRST_ANSWER_MS, translated
from streams.kafka.fit import Span

POLL_MS: Final = 1_000
SILENT_S: Final = 60
"""How long the broker may say nothing of records it has."""


Spans = Callable[[], Mapping[Partition, Span]]
"""Says what the partitions hold by now."""


class Log:
    """Reads partitions from offset 0 to where they end by then; every method may raise a StreamError."""

    def __init__(self, client: KafkaConsumer, address: str, look: Spans) -> None:
        """Over an open client, see `log`."""
        self._client = client
        self._address = address
        self._look = look
        self._spans = look()
        self._assigned: Partition | None = None

    def partitions(self) -> list[Partition]:
        """Those that hold or held records; StreamError where the first of them are gone."""
        self._spans = self._look()
        found = [partition for partition, span in sorted(self._spans.items()) if span.end]
        gone = [f"{self._spans[at].first} of {at}" for at in found if self._spans[at].first]
        if gone:
            raise StreamError(
                f"Kafka at {self._address} no longer has the first records, {', '.join(gone)}: they are past their "
                "retention there, and the store has them: `tenure replay --from archive`"
            )
        return found

    def read(self, partition: Partition, after_offset: int, limit: int) -> list[Record]:
        """The next events: `limit`, and the rest of a batched record it would cut."""
        at = after_offset + 1
        if at >= self._spans[partition].end:
            self._spans = self._look()
        end = self._spans[partition].end
        found: list[Record] = []
        with translated(self._address):
            self._go_to(partition, at)
            silent = 0
            while at < end and len(found) < limit:
                polled = self._client.poll(POLL_MS, max_records=max(1, min(500, limit - len(found))))
                told = polled.get(TopicPartition(*partition), ())
                silent = 0 if told else silent + 1
                if silent * POLL_MS > SILENT_S * 1_000:
                    raise StreamError(f"Kafka at {self._address} does not deliver {partition} from offset {at} on")
                for message in told:
                    if message.offset != at:
                        raise StreamError(f"Kafka at {self._address} has no record {at} of {partition} any more")
                    raws = split(message.value or b"")
                    recorded_us = message.timestamp * 1_000
                    found += [record(raw, partition, at, recorded_us, n) for n, raw in enumerate(raws)]
                    at += 1
        return found

    def _go_to(self, partition: Partition, offset: int) -> None:
        place = TopicPartition(*partition)
        if self._assigned != partition:
            self._client.assign([place])
            self._assigned = partition
        if self._client.position(place) != offset:
            self._client.seek(place, offset)


@contextmanager
def log(address: str, look: Spans) -> Iterator[Log]:
    """The log in Kafka at `address`; StreamError where it does not answer. `look` is asked again as the log grows."""
    with translated(address):
        client = KafkaConsumer(
            bootstrap_servers=address,
            client_id="tenure",
            bootstrap_timeout_ms=FIRST_ANSWER_MS,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
    try:
        yield Log(client, address, look)
    finally:
        client.close()
