"""The log folded anew, from its first record, into a generation of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Checkpoint, Partition, Position, by_cluster
from ledger.store.protocol import Store
from streams.directory import Directory
from streams.intake import Record, from_archive
from streams.processor import Folded, Processor

BATCH = 20_000
"""Records folded between two writes."""

Progress = Callable[[int], None]
Checkpoints = Mapping[Partition, Mapping[str, Checkpoint]]

READ_AGAIN: Final = 20
"""So often checkpoints are read that a writer is just replacing."""


def folded_to(checkpoints: Checkpoints) -> dict[Partition, Position]:
    """How far each partition is folded."""
    return {partition: found[""].position for partition, found in checkpoints.items() if "" in found}


def saved(store: Store, generation: str) -> tuple[Checkpoints, frozenset[str]]:
    """The checkpoints, and the clusters left out of them: those half of whose save is done.

    That of '' is written last. Who reads while somebody saves reads again; after a writer that was killed just then
    it stays so until the next one has begun.
    """
    found, half = _parted(store.checkpoints(generation))
    for _ in range(READ_AGAIN):
        if not half:
            break
        found, half = _parted(store.checkpoints(generation))
    return found, half


def _parted(checkpoints: Checkpoints) -> tuple[Checkpoints, frozenset[str]]:
    """Those that their partition's end speaks of, and the clusters ahead of it."""
    ends = folded_to(checkpoints)
    whole = {
        at: {name: c for name, c in of_partition.items() if at in ends and c.position.place <= ends[at].place}
        for at, of_partition in checkpoints.items()
    }
    ahead = {name for at, of_partition in checkpoints.items() for name in of_partition.keys() - whole[at].keys()}
    return whole, frozenset(ahead)


@dataclass(slots=True)
class Replayed:
    """What the log came to: checkpoints by partition and cluster, dead letters, the directory, outcomes by name.

    `misfiled` are places whose columns do not say what their bytes say. `last` is the place of each cluster's last
    record in each partition, `ends` that of each partition's.
    """

    checkpoints: dict[Partition, dict[str, Checkpoint]] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    directory: Directory = field(default_factory=Directory)
    outcomes: Counter[str] = field(default_factory=Counter)
    misfiled: list[ArchivedEvent] = field(default_factory=list)
    last: dict[tuple[Partition, str], Position] = field(default_factory=dict)
    ends: dict[Partition, Position] = field(default_factory=dict)
    records: int = 0


class Log(Protocol):
    """A log that can be read from its beginning."""

    def partitions(self) -> list[Partition]:
        """What there is to read."""
        ...

    def read(self, partition: Partition, after_offset: int, limit: int) -> list[Record]:
        """The next events: `limit`, and the rest of a batched record it would cut."""
        ...


class Archive:
    """The log as the store keeps it."""

    def __init__(self, store: Store) -> None:
        """All of it is there, whatever Kafka has let go of."""
        self._store = store

    def partitions(self) -> list[Partition]:
        return [Partition(str(topic), int(str(number))) for topic, number, *_ in self._store.query("check_log").rows]

    def read(self, partition: Partition, after_offset: int, limit: int) -> list[Record]:
        return [from_archive(archived) for archived in self._store.read_events(*partition, after_offset, limit)]


class Replay:
    """A log being folded anew into `generation`, which must be empty; while it grows, go on until it is caught up.

    Rows come first and checkpoints last, so that a replay that was stopped has none.
    """

    def __init__(self, store: Store, generation: str, log: Log | None = None) -> None:
        """Nothing is folded yet; the log is the store's own unless another is given."""
        self._store = store
        self._log = Archive(store) if log is None else log
        self._processors: dict[Partition, Processor] = {}
        self.generation = generation
        self.replayed = Replayed()

    def go_on(self, *, until: Mapping[Partition, Position] | None = None, progress: Progress | None = None) -> int:
        """Fold what the log holds by now, each partition up to its place in `until`, if given; returns the records."""
        before = self.replayed.records
        for partition in self._log.partitions():
            end = None if until is None else until.get(partition, Position(*partition, -1, 0))
            self._partition(partition, end, progress)
        return self.replayed.records - before

    def checkpoint(self) -> None:
        """Say in the store how far it is folded: whoever goes on with the generation begins there."""
        for partition, processor in self._processors.items():
            for checkpoint in processor.checkpoints(self.replayed.ends[partition]):
                self._store.save_checkpoint(self.generation, checkpoint)
                self.replayed.checkpoints.setdefault(partition, {})[checkpoint.cluster] = checkpoint

    def _partition(self, partition: Partition, until: Position | None, progress: Progress | None) -> None:
        replayed = self.replayed
        last = replayed.ends.get(partition, Position(*partition, -1, 0))
        while batch := _up_to(self._log.read(partition, last.offset, BATCH), until):
            last = replayed.ends[partition] = _place(batch[-1])
            _check_columns(batch, replayed)
            folded = self._processors.setdefault(partition, Processor()).fold(batch)
            self._store.write(self.generation, folded.rows)
            _count(folded, batch, replayed, progress)


def replay(
    store: Store,
    generation: str,
    *,
    until: Mapping[Partition, Position] | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Fold the whole log into `generation`, which must be empty; each partition up to its place in `until`."""
    made = Replay(store, generation)
    made.go_on(until=until, progress=progress)
    made.checkpoint()
    return made.replayed


def sum_samples(
    store: Store, generation: str, checkpoints: dict[Partition, dict[str, Checkpoint]], progress: Progress | None = None
) -> None:
    """Sum samples by the runs of a replayed generation: the sums are no part of the log."""
    found = by_cluster(checkpoints)
    for cluster, since_s in store.query("sampled_since").rows:
        at = found.get(str(cluster))
        if at is not None:
            store.roll_up_samples(generation, str(cluster), int(str(since_s)), at.closed_until_s, at.ticked_s)
        if progress is not None:
            progress(1)


def _up_to(batch: list[Record], until: Position | None) -> list[Record]:
    if until is None:
        return batch
    return [r for r in batch if (r.archived.offset, r.archived.index) <= until.place]


def _place(record: Record) -> Position:
    topic, partition, offset, index, *_ = record.archived
    return Position(topic, partition, offset, index)


def _count(folded: Folded, batch: list[Record], replayed: Replayed, progress: Progress | None) -> None:
    replayed.dead_letters += folded.dead_letters
    replayed.directory.take(folded)
    replayed.outcomes += folded.outcomes
    replayed.records += len(batch)
    for record in batch:
        at = _place(record)
        replayed.last[at.of, record.archived.cluster] = at
    if progress is not None:
        progress(len(batch))


def _check_columns(batch: list[Record], replayed: Replayed) -> None:
    """The columns beside the bytes are read by people: they must say the same."""
    replayed.misfiled += [r.archived for r in batch if not _filed_right(r)]


def _filed_right(record: Record) -> bool:
    from_bytes = record.filed()
    kept = record.archived
    return from_bytes == (kept.cluster, kept.source, kept.event_id, kept.type, kept.occurred_us)
