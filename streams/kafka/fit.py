"""Whether a log in Kafka and what a store holds of it belong together. Pure.

Places are all that ties them: a Kafka that was made anew, lost records or was given more partitions gives out places
that mean something else in the store, and nothing else would show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka.partitioner.default import murmur2

from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from streams.kafka import HOME
from streams.topics import EVENTS

_POSITIVE: Final = 0x7FFF_FFFF


def home(cluster_id: str) -> str:
    """The home of a log in that Kafka."""
    return f"{HOME}{cluster_id}"


class Span(NamedTuple):
    """What a partition holds: records from `first` on, the next to come is `end`."""

    first: int
    end: int


def held(store: Store, spans: Mapping[Partition, Span]) -> dict[Partition, int]:
    """The last place of each partition that the store has in its log, -1 for none."""
    return {partition: store.last_offset(*partition) for partition in spans}


def misfits(
    spans: Mapping[Partition, Span], held: Mapping[Partition, int], clusters: Mapping[str, Partition], address: str
) -> Iterator[str]:
    """Why a worker must not go on. `clusters` says in which partition each cluster is booked."""
    for partition, last in held.items():
        first, end = spans[partition]
        if last >= end:
            yield (
                f"the store holds {partition} up to place {last}, and Kafka at {address} only up to {end - 1}: it lost "
                "records, or was made anew; give it back what it had, or begin another book"
            )
        elif first > last + 1:
            yield (
                f"Kafka at {address} no longer has the places {last + 1} to {first - 1} of {partition}, and neither "
                "has the store: restore the store from a copy that has them"
            )
    partitions = sum(partition.topic == EVENTS.name for partition in spans)
    for cluster, partition in clusters.items():
        next_ = partition_of(cluster, partitions)
        if partition.topic == EVENTS.name and partition.number != next_:
            yield (
                f"{cluster} is booked in {partition}, and with {partitions} partitions its next events go to {next_}: "
                "the topic was given more partitions, which splits the order of what a cluster tells; make the topic "
                "anew with as many as it had, and a book beside it"
            )


def partition_of(key: str, partitions: int) -> int:
    """Where Kafka's clients send a key."""
    return int((murmur2(key.encode()) & _POSITIVE) % partitions)
