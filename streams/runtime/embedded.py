"""The embedded runtime: one process, the log a table of the store.

Order of writing: the log (synced to disk), then rows and dead letters, then sums of samples, then checkpoints. A
restart loads the checkpoints and folds the log on; rows written after a checkpoint are written again, identically.
Nothing else is needed for every record to count exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ledger.archive import DeadLetter
from ledger.checkpoint import Position
from ledger.events import GpuSampled
from ledger.rows import Posting
from ledger.store.errors import StoreError
from ledger.store.protocol import SAMPLES_KEPT_S, Samples, Store, coded
from ledger.units import DAY_S, HOUR_S, epoch_s, epoch_us
from streams.intake import Record, from_archive, record
from streams.processor import Folded, Processor

TOPIC = "tenure.events"
BATCH = 20_000
"""Records per group commit: large enough that inserts cost little, small enough to show progress."""
CHECKPOINT_S = 5
"""While a long ingest runs, seconds between checkpoints: what a crash makes it fold again."""
RESUME_ROLL_UP_S = 2 * DAY_S
"""After a restart, the closed hours whose samples are summed again, as the last sums may be lost."""

Clock = Callable[[], datetime]
Progress = Callable[[int], None]


@dataclass(slots=True)
class Summary:
    """What an ingest came to, by named outcome."""

    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    samples: int = 0

    @property
    def dead_letters(self) -> int:
        """Records that went to the dead letters."""
        return sum(n for name, n in self.outcomes.items() if name not in {"applied", "repeated"})


class Embedded:
    """The processor over a store that this process alone writes. Open it, ingest, close it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """A runtime over a migrated store; folds on what an earlier one left unfinished."""
        self._store = store
        self._clock = clock
        self.generation = store.live_generation()
        checkpoints = store.checkpoints(self.generation)
        self.processor = Processor(checkpoints.values())
        self._next = store.last_offset(TOPIC, 0) + 1
        self._saved_at: datetime = clock()
        self._unsummed: dict[str, dict[int, None]] = {}
        self._torn = False
        self.resumed = self._resume(checkpoints[""].position.offset if "" in checkpoints else -1)

    def _resume(self, after: int) -> Summary:
        """Fold what stands in the log behind the last checkpoint."""
        summary = Summary()
        while records := [from_archive(a) for a in self._store.read_events(TOPIC, 0, after, BATCH)]:
            after = records[-1].archived.offset
            self._fold(records, summary)
        if summary.records:
            for cluster, ledger in self.processor.ledgers.items():
                closed_s = ledger.book.state.closed_until_s
                self._unsummed.setdefault(cluster, {}).update(
                    dict.fromkeys(range(max(0, closed_s - RESUME_ROLL_UP_S), closed_s, HOUR_S))
                )
            self.save()
        return summary

    def ingest(self, raws: Iterable[bytes], progress: Progress | None = None) -> Summary:
        """Append records to the log and fold them; returns when all of it is kept and checkpointed.

        Each is the bytes of one event. What cannot be read or is refused is kept as a dead letter.
        """
        summary = Summary()
        for batch in _batches(raws, BATCH):
            now_us = epoch_us(self._clock())
            records = [record(raw, TOPIC, self._next + n, now_us) for n, raw in enumerate(batch)]
            with self._whole():
                self._append(records)
                self._fold(records, summary)
            if (self._clock() - self._saved_at).total_seconds() >= CHECKPOINT_S:
                self.save()
            if progress is not None:
                progress(len(batch))
        self.save()
        return summary

    def _append(self, records: list[Record]) -> None:
        """Samples are kept in their own table, and so are not in the log."""
        kept = [r.archived for r in records if not isinstance(r.event, GpuSampled)]
        if len(kept) != len(records):
            kept = [a._replace(offset=self._next + n) for n, a in enumerate(kept)]
            logged = iter(kept)
            for place, r in enumerate(records):
                if not isinstance(r.event, GpuSampled):
                    records[place] = r._replace(archived=next(logged))
        self._store.append(kept)
        self._next += len(kept)

    def _fold(self, records: list[Record], summary: Summary) -> None:
        samples = [r.event for r in records if isinstance(r.event, GpuSampled)]
        folded = self.processor.fold([r for r in records if not isinstance(r.event, GpuSampled)])
        self._write(folded)
        summary.records += len(records)
        summary.outcomes += folded.outcomes
        summary.outcomes["applied"] += len(samples)
        if samples:
            summary.samples += self.add_samples(columns_of(samples))

    def _write(self, folded: Folded) -> None:
        self._store.write(self.generation, folded.rows)
        self._store.write_dead_letters(folded.dead_letters)
        self._store.write_directory(folded.accounts, folded.requests)
        for posting in folded.rows.get(Posting, ()):
            self._unsummed.setdefault(posting.cluster, {})[posting.hour_s] = None

    def keep(self, letters: Sequence[DeadLetter]) -> None:
        """Keep what no event could be made of, such as unreadable rows of a file; the same letter again is one."""
        self._store.write_dead_letters(letters)

    def add_samples(self, samples: Samples) -> int:
        """Keep samples of GPUs; returns how many. They are summed per run once their hour is closed."""
        self._store.write_samples(samples)
        for place, cluster in enumerate(samples.clusters):
            mine = samples.cluster == place
            hours = hours_of(samples.at_s[mine], samples.interval_s[mine])
            self._unsummed.setdefault(cluster, {}).update(dict.fromkeys(hours))
        return len(samples.at_s)

    def save(self) -> None:
        """Sum the samples of hours that closed or changed, then checkpoint every book that changed.

        In this order, because a checkpoint says that nothing up to it is left to do. Refused once a write failed or
        was interrupted: a checkpoint would then speak of rows that are not there.
        """
        with self._whole():
            self._save()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is begun must be carried through: after an exception the books in memory are ahead of the store."""
        if self._torn:
            raise StoreError("a write was interrupted: open the book again, and it goes on where it stood")
        self._torn = True
        yield
        self._torn = False

    def _save(self) -> None:
        self._sum_samples()
        if any(ledger.unsaved for ledger in self.processor.ledgers.values()):
            position = Position(TOPIC, 0, self._next - 1, 0)
            for checkpoint in self.processor.checkpoints(position):
                self._store.save_checkpoint(self.generation, checkpoint)
        self._saved_at = self._clock()

    def _sum_samples(self) -> None:
        for cluster, hours in self._unsummed.items():
            ledger = self.processor.ledgers.get(cluster)
            if ledger is None or not hours:
                continue
            state = ledger.book.state
            due = [h for h in hours if h < state.closed_until_s]
            for from_s, until_s in _spans(sorted(due)):
                self._store.roll_up_samples(self.generation, cluster, from_s, until_s, state.ticked_s)
            for hour_s in due:
                del hours[hour_s]

    def expire_samples(self) -> None:
        """Forget samples that are past their keeping."""
        self._store.expire_samples(epoch_s(self._clock()) - SAMPLES_KEPT_S)

    def close(self) -> None:
        """Save what is unsaved, unless a write was interrupted, and let go of the store."""
        try:
            if not self._torn:
                self.save()
        finally:
            self._store.close()


def _batches(raws: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    source = iter(raws)
    while batch := list(islice(source, size)):
        yield batch


def _spans(hours: list[int]) -> Iterator[tuple[int, int]]:
    """Sorted hours as [from, until) of hours that follow one another."""
    begin = until = None
    for hour_s in hours:
        if hour_s != until:
            if begin is not None and until is not None:
                yield begin, until
            begin = hour_s
        until = hour_s + HOUR_S
    if begin is not None and until is not None:
        yield begin, until


def hours_of(at_s: NDArray[np.int64], interval_s: NDArray[np.uint32]) -> set[int]:
    """The hours that samples speak for, of each a day at most."""
    first = at_s // HOUR_S
    last = np.minimum(at_s + interval_s - 1, at_s + DAY_S) // HOUR_S
    longest = int((last - first).max(initial=0))
    return {hour * HOUR_S for n in range(longest + 1) for hour in np.unique(np.minimum(first + n, last)).tolist()}


def columns_of(events: Iterable[GpuSampled]) -> Samples:
    """The samples of events as columns."""
    rows = [
        (
            e.data.cluster,
            e.data.node,
            g.index,
            epoch_s(e.data.since),
            epoch_s(e.data.until) - epoch_s(e.data.since),
            g.utilization_pct,
            *(np.nan if v is None else v for v in (g.sm_active_pct, g.memory_used_mib, g.power_w)),
            -1 if g.xid is None else g.xid,
        )
        for e in events
        for g in e.data.gpus
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 10
    return Samples(
        *coded(columns[0]),
        *coded(columns[1]),
        np.array(columns[2], dtype=np.uint16),
        np.array(columns[3], dtype=np.int64),
        np.array(columns[4], dtype=np.uint32),
        np.array(columns[5], dtype=np.float32),
        np.array(columns[6], dtype=np.float32),
        np.array(columns[7], dtype=np.float32),
        np.array(columns[8], dtype=np.float32),
        np.array(columns[9], dtype=np.int32),
    )
