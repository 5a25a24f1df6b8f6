"""Follows one partition of the log beside its owner: the same books in memory, and nothing of it is written.

It begins at the owner's checkpoints. That they may be behind or made anew meanwhile does not matter: a book is the same
wherever the fold of its log began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from streams.intake import from_archive
from streams.processor import Processor
from streams.runtime.owner import Message, batches, following
from streams.runtime.patience import Patience

BATCH: Final = 20_000
"""Records of the archive folded at a time."""


class Follower:
    """Folds one partition. Every method blocks; opening it may raise a StoreError."""

    def __init__(
        self, store: Store, partition: Partition, patience: Patience, taken: Callable[[], None] = lambda: None
    ) -> None:
        """The books as they stand behind the live generation's checkpoints and what the store holds of the log.

        `taken` is called whenever something more was folded.
        """
        self._taken = taken
        self.partition: Final = partition
        self.unsaved = False
        self.unsettled: Final = False
        self.processor, self.next_offset = patience.insist(lambda: _opened(store, partition))

    def take(self, messages: Sequence[Message]) -> int | None:
        """Fold what is new; the offset to read again from, where records are missing before the rest."""
        for batch in batches(following(messages, self.next_offset), self.partition):
            self.unsaved = True
            self.processor.fold(batch)
            self.next_offset = batch[-1].archived.offset + 1
        self._taken()
        return self.next_offset if messages and messages[-1].offset >= self.next_offset else None

    def save(self) -> None:
        """Nothing is kept, and so all that was taken may be acknowledged."""
        self.unsaved = False


def _opened(store: Store, partition: Partition) -> tuple[Processor, int]:
    """The partition's books, and the place of the next record."""
    checkpoints = store.checkpoints(store.live_generation()).get(partition, {})
    processor = Processor(checkpoints.values())
    at = checkpoints[""].position.offset if "" in checkpoints else -1
    while archived := store.read_events(*partition, at, BATCH):
        processor.fold([from_archive(one) for one in archived])
        at = archived[-1].offset
    return processor, at + 1
