"""What both runtimes do with records of one partition: fold them, keep what comes of it, and say how far that is.

Order of writing: the records, then rows and dead letters, then sums of samples, then checkpoints. Rows written after a
checkpoint are written again, identically, under the same keys; nothing else is needed for every record to count
exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from ledger.archive import ArchivedEvent
from ledger.checkpoint import Partition, Position
from ledger.rows import Posting
from ledger.state import State
from ledger.store.errors import StoreError
from ledger.store.protocol import Samples, Store
from streams.intake import Record, from_archive
from streams.processor import Folded, Processor
from streams.runtime.patience import Insist, at_once
from streams.runtime.samples import SUMMED_AGAIN_S, Sums, columns_of

BATCH: Final = 20_000
"""Records folded between two writes while catching up: large enough that inserts cost little."""


def without_checkpoint(store: Store, generation: str) -> dict[tuple[Partition, str], int]:
    """Clusters of which the log has records that are said to be folded, and no checkpoint is there; how many records.

    Going on from there would begin a blank book over the rows of the old one.
    """
    rows = store.query("log_without_checkpoint", {"generation": generation}).rows
    return {
        (Partition(str(topic), int(str(number))), str(cluster)): int(str(records))
        for topic, number, cluster, records in rows
    }


class Keeper:
    """The processor of one partition over the store. One at a time may write a partition."""

    def __init__(self, store: Store, generation: str, partition: Partition, insist: Insist = at_once) -> None:
        """Ready to go on after the generation's checkpoints; `insist` makes each write.

        Where a cluster has lost its checkpoint, none of the partition counts: all is folded anew, to the same rows.
        """
        self._store = store
        self._insist = insist
        self.generation = generation
        self.partition = partition
        lost = any(at == partition for at, _ in without_checkpoint(store, generation))
        checkpoints = {} if lost else store.checkpoints(generation).get(partition, {})
        self.processor = Processor(checkpoints.values())
        self.folded = checkpoints[""].position if "" in checkpoints else Position(*partition, -1, 0)
        """The last record that is folded; the checkpoints may lie before it."""
        self._checkpointed = self.folded
        self._unwritten: list[Folded] = []
        self._sums = Sums()
        self.torn = False
        """Whether a write was not carried through; nothing more is taken or checkpointed then."""

    def catch_up(self) -> list[Folded]:
        """Fold what the store holds of the partition behind the checkpoints, and checkpoint it.

        Batch by batch, so that whoever is stopped meanwhile goes on from there.
        """
        found = []
        archived = self._behind()
        while archived:
            with self._whole():
                found.append(self._keep([from_archive(a) for a in archived]))
            archived = self._behind()
            if not archived:
                self._sum_again()
            self.save()
        return found

    def _behind(self) -> list[ArchivedEvent]:
        """The next records the store holds that are not folded."""
        return self._store.read_events(*self.partition, self.folded.offset, BATCH)

    def _sum_again(self) -> None:
        """The last sums of samples may be lost."""
        for cluster, ledger in self.processor.ledgers.items():
            state = ledger.book.state
            self._sums.due(cluster, state.closed_hours(state.closed_until_s - SUMMED_AGAIN_S, state.closed_until_s))

    def take(self, records: Sequence[Record], *, rows_later: bool = False) -> Folded:
        """Append records to the log in the store, fold them, and write what comes of it, at the latest at `save`."""
        with self._whole():
            archived = [record.archived for record in records]
            self._insist(lambda: self._store.append(archived))
            return self._keep(records, rows_later=rows_later)

    def _keep(self, records: Sequence[Record], *, rows_later: bool = False) -> Folded:
        folded = self.processor.fold(records)
        self._unwritten.append(folded)
        if not rows_later:
            self._write()
        if records:
            at = records[-1].archived
            self.folded = Position(at.topic, at.partition, at.offset, at.index)
        return folded

    def _write(self) -> None:
        """What came of the records, in their order."""
        for folded in self._unwritten:
            self._insist(partial(self._store.write, self.generation, folded.rows))
            self._insist(partial(self._store.write_dead_letters, folded.dead_letters))
            self._insist(partial(self._store.write_directory, folded.accounts, folded.requests))
            self._sums.posted(folded.rows.get(Posting, ()))
            if folded.samples:
                self.add_samples(columns_of(folded.samples))
        self._unwritten.clear()

    def add_samples(self, samples: Samples) -> None:
        """Keep samples of GPUs. They are summed per run once their hour is closed."""
        self._insist(lambda: self._store.write_samples(samples))
        self._sums.sampled(samples)

    def save(self) -> None:
        """Sum the samples of hours that closed or changed, then checkpoint every book that changed.

        In this order, because a checkpoint says that nothing up to it is left to do. Refused once a write failed or
        was interrupted: a checkpoint would then speak of rows that are not there.
        """
        with self._whole():
            self._write()
            for cluster, ledger in self.processor.ledgers.items():
                self._insist(partial(self._sum, cluster, ledger.book.state))
            if self.folded != self._checkpointed or any(le.unsaved for le in self.processor.ledgers.values()):
                for checkpoint in self.processor.checkpoints(self.folded):
                    self._insist(partial(self._store.save_checkpoint, self.generation, checkpoint))
                self._checkpointed = self.folded

    def _sum(self, cluster: str, state: State) -> None:
        self._sums.make(self._store, self.generation, cluster, state.closed_until_s, state.ticked_s)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is begun must be carried through: after an exception the books in memory are ahead of the store."""
        if self.torn:
            raise StoreError("a write was interrupted: open the book again, and it goes on where it stood")
        self.torn = True
        yield
        self.torn = False
