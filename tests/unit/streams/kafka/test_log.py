"""The log as Kafka has it goes on growing while it is read."""

from typing import Any, NamedTuple

import pytest
from kafka import TopicPartition

from ledger.checkpoint import Partition
from streams.kafka import StreamError
from streams.kafka.fit import Span
from streams.kafka.log import Log

HERE = Partition("tenure.events", 2)


class Told(NamedTuple):
    """A record as the client gives it."""

    offset: int
    value: bytes
    timestamp: int = 1_700_000_000_000


class Client:
    """A client of a partition that holds so many records."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.at = 0

    def assign(self, _: object) -> None: ...

    def position(self, _: object) -> int:
        return self.at

    def seek(self, _: object, offset: int) -> None:
        self.at = offset

    def poll(self, _: int, max_records: int) -> dict[TopicPartition, list[Told]]:
        found = [Told(n, b"?") for n in range(self.at, min(self.at + max_records, self.records))]
        self.at += len(found)
        return {TopicPartition(*HERE): found}


def log_of(client: Client, first: int = 0) -> Log:
    broker: Any = client
    return Log(
        broker, "k1:9092", lambda: {HERE: Span(first, client.records), Partition("tenure.directory", 0): Span(0, 0)}
    )


def test_what_came_since_is_read_too():
    client = Client(30)
    log = log_of(client)
    assert log.partitions() == [HERE]
    assert [len(log.read(HERE, after, 20)) for after in (-1, 19, 29)] == [20, 10, 0]
    client.records = 700
    assert [r.archived.offset for r in log.read(HERE, 29, 1_000)] == list(range(30, 700))
    assert log.read(HERE, 699, 10) == []


def test_a_log_that_has_lost_its_beginning_is_refused():
    with pytest.raises(StreamError, match=r"no longer has the first records, 3 of tenure\.events/2: .* --from archive"):
        log_of(Client(30), first=3).partitions()
