"""The owner of one partition of a log in Kafka: what it delivers goes into the store and the books, in order, once.

It knows nothing of Faust. Places come one after another; what was taken before is passed over, and where one is missing
the owner says from which place it wants to read again. After a start that is the place behind what the store holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from streams.batches import split
from streams.intake import Record, record
from streams.processor import Processor
from streams.runtime.keeper import BATCH, Keeper
from streams.runtime.patience import Patience


class Message(NamedTuple):
    """A record as Kafka delivers it: its place, when the broker recorded it (microseconds since 1970), its bytes."""

    offset: int
    recorded_us: int
    value: bytes


class Owner:
    """Writes one partition of a log. Every method blocks, and may raise a StoreError, after which it is of no use."""

    def __init__(self, store: Store, partition: Partition, patience: Patience) -> None:
        """Go on after the live generation's checkpoints and what the store holds behind them."""
        self._store = store
        self._patience = patience
        self.partition: Final = partition
        self._keeper = patience.insist(self._open)
        self.unsaved = False
        self.unsettled: Final = True
        """The views may show another generation at any time."""

    def _open(self) -> Keeper:
        keeper = Keeper(self._store, self._store.live_generation(), self.partition, self._patience.insist)
        keeper.catch_up()
        return keeper

    @property
    def processor(self) -> Processor:
        """The books of the partition's clusters."""
        return self._keeper.processor

    @property
    def next_offset(self) -> int:
        """The place of the next record."""
        return self._keeper.folded.offset + 1

    def take(self, messages: Sequence[Message]) -> int | None:
        """Keep and fold what is new; the offset to read again from, where records are missing before the rest."""
        for batch in batches(following(messages, self.next_offset), self.partition):
            self.unsaved = True
            self._keeper.take(batch)
        missing = messages and messages[-1].offset >= self.next_offset
        return self.next_offset if missing else None

    def save(self) -> None:
        """Checkpoint what was taken; go on in another generation if the views show another."""
        self._keeper.save()
        self.unsaved = False
        if self._patience.insist(self._store.live_generation) != self._keeper.generation:
            self._keeper = self._patience.insist(self._open)


def following(messages: Sequence[Message], next_offset: int) -> Iterator[Message]:
    """Those that come one after another from an offset on, up to the first that is missing."""
    for message in messages:
        if message.offset == next_offset:
            yield message
            next_offset += 1
        elif message.offset > next_offset:
            return


def batches(messages: Iterator[Message], partition: Partition) -> Iterator[list[Record]]:
    """The events of records in order, so many at a time; a record is never parted."""
    batch: list[Record] = []
    for message in messages:
        raws = split(message.value)
        batch += [record(raw, partition, message.offset, message.recorded_us, n) for n, raw in enumerate(raws)]
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
