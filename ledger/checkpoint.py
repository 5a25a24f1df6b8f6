"""What a restart needs: the state of one cluster's fold and how far into the log it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition of the log: what is folded in order, by one writer."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"


@dataclass(frozen=True, slots=True)
class Position:
    """The last record folded: its place in the log. `index` is the place inside a batched record."""

    topic: str
    partition: int
    offset: int
    index: int

    @property
    def of(self) -> Partition:
        """The partition the place is in."""
        return Partition(self.topic, self.partition)

    @property
    def place(self) -> tuple[int, int]:
        """The place in its partition, later ones greater."""
        return self.offset, self.index


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of one cluster after `seq` fact-changing events.

    `cluster` '' stands for records of a partition that belong to no cluster. `facts` is the encoded state (bytes,
    compressed); `facts_hash` the sum of blake2b-128 of its canonical records and `log_hash` that of the cluster's log
    records, both modulo 2**128; `events` counts those log records.
    """

    cluster: str
    seq: int
    position: Position
    recorded_s: int
    ticked_s: int
    closed_until_s: int
    events: int
    facts: bytes
    facts_hash: int
    log_hash: int


def by_cluster(checkpoints: Mapping[Partition, Mapping[str, Checkpoint]]) -> dict[str, Checkpoint]:
    """The checkpoint of each cluster; all its records are in one partition."""
    return {name: found for of_partition in checkpoints.values() for name, found in of_partition.items() if name}
