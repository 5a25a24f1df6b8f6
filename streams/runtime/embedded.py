"""The embedded runtime: one process, the log a table of the store, synced to disk before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from ledger.archive import DeadLetter
from ledger.checkpoint import Partition
from ledger.events import GpuSampled
from ledger.rows import Remark
from ledger.store.protocol import SAMPLES_KEPT_S, Samples, Store
from ledger.units import epoch_s, epoch_us
from streams.intake import Record, record
from streams.processor import Folded
from streams.runtime.keeper import Keeper
from streams.runtime.samples import columns_of

LOG = Partition("tenure.events", 0)
HOME = "here"
"""Where the log is first written, as the store remembers it."""
BATCH = 20_000
"""Records per group commit: large enough that inserts cost little, small enough to show progress."""
CHECKPOINT_S = 5
"""While a long ingest runs, seconds between checkpoints: what a crash makes it fold again."""

Clock = Callable[[], datetime]
Progress = Callable[[int], None]


@dataclass(slots=True)
class Summary:
    """What an ingest came to, by named outcome, and the remarks on what was taken."""

    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)
    samples: int = 0

    @property
    def dead_letters(self) -> int:
        """Records that went to the dead letters."""
        return sum(n for name, n in self.outcomes.items() if name not in {"applied", "repeated"})

    def add(self, folded: Folded, records: int) -> None:
        """Count a batch in."""
        self.records += records
        self.outcomes += folded.outcomes
        self.remarks.update(remark.name for remark in folded.rows.get(Remark, ()))


class Embedded:
    """The processor over a store that this process alone writes. Open it, ingest, close it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """A runtime over a migrated store; folds on what an earlier one left unfinished."""
        store.settle_log(HOME)
        self._store = store
        self._clock = clock
        self._keeper = Keeper(store, store.live_generation(), LOG)
        self._saved_at: datetime = clock()
        self.processor = self._keeper.processor
        self.resumed = Summary()
        for folded in self._keeper.catch_up():
            self.resumed.add(folded, folded.outcomes.total())
        self._next = self._keeper.folded.offset + 1

    def ingest(self, raws: Iterable[bytes], progress: Progress | None = None, *, log_only: bool = False) -> Summary:
        """Append records to the log and fold them; returns when all of it is kept and checkpointed.

        Each is the bytes of one event. What cannot be read or is refused is kept as a dead letter. Samples are kept
        in their own table, and so are not in the log. With `log_only` they are kept in the log and folded; the rest
        comes with `save`, or, after a crash, when the book is opened again.
        """
        summary = Summary()
        for batch in _batches(raws, BATCH):
            now_us = epoch_us(self._clock())
            records, samples = _parted(batch, self._next, now_us)
            summary.add(self._keeper.take(records, rows_later=log_only), len(records))
            self._next += len(records)
            if samples:
                summary.records += len(samples)
                summary.outcomes["applied"] += len(samples)
                summary.samples += self.add_samples(columns_of(samples))
            if not log_only and (self._clock() - self._saved_at).total_seconds() >= CHECKPOINT_S:
                self.save()
            if progress is not None:
                progress(len(batch))
        if not log_only:
            self.save()
        return summary

    def keep(self, letters: Sequence[DeadLetter]) -> None:
        """Keep what no event could be made of, such as unreadable rows of a file; the same letter again is one."""
        self._store.write_dead_letters(letters)

    def add_samples(self, samples: Samples) -> int:
        """Keep samples of GPUs; returns how many. They are summed per run once their hour is closed."""
        self._keeper.add_samples(samples)
        return len(samples.at_s)

    def save(self) -> None:
        """Sum samples and checkpoint what changed; raises a StoreError once a write was interrupted."""
        self._keeper.save()
        self._saved_at = self._clock()

    def expire_samples(self) -> None:
        """Forget samples that are past their keeping."""
        self._store.expire_samples(epoch_s(self._clock()) - SAMPLES_KEPT_S)

    def close(self) -> None:
        """Save what is unsaved, unless a write was interrupted, and let go of the store."""
        try:
            if not self._keeper.torn:
                self.save()
        finally:
            self._store.close()


def _parted(raws: list[bytes], offset: int, now_us: int) -> tuple[list[Record], list[GpuSampled]]:
    """Records for the log from `offset` on, and the samples among them."""
    records: list[Record] = []
    samples: list[GpuSampled] = []
    for raw in raws:
        taken = record(raw, LOG, offset + len(records), now_us)
        if isinstance(taken.event, GpuSampled):
            samples.append(taken.event)
        else:
            records.append(taken)
    return records, samples


def _batches(raws: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    source = iter(raws)
    while batch := list(islice(source, size)):
        yield batch
