"""What a restart needs: the state of one cluster's fold and how far into the log it is true."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """The last record folded: its place in the log. `index` is the place inside a batched record."""

    topic: str
    partition: int
    offset: int
    index: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of one cluster after `seq` fact-changing events.

    `cluster` '' stands for records that belong to no cluster. `facts` is the encoded state (bytes, compressed);
    `facts_hash` the sum of blake2b-128 of its canonical records and `log_hash` that of the cluster's log records,
    both modulo 2**128; `events` counts those log records.
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
