"""The log folded anew, from its first record, into a generation of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Checkpoint, Position
from ledger.store.protocol import Store
from streams.intake import Record, from_archive
from streams.processor import Folded, Processor

BATCH = 20_000
"""Records folded between two writes."""

Progress = Callable[[int], None]


@dataclass(slots=True)
class Replayed:
    """What the log came to: a checkpoint per cluster, dead letters, outcomes by name.

    `misfiled` are places whose columns do not say what their bytes say. `last` is the place of each cluster's last
    record, `ends` that of each partition's.
    """

    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    misfiled: list[ArchivedEvent] = field(default_factory=list)
    last: dict[str, Position] = field(default_factory=dict)
    ends: dict[tuple[str, int], Position] = field(default_factory=dict)
    records: int = 0


def replay(
    store: Store,
    generation: str,
    *,
    until: Position | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Fold the whole log into `generation`, which must be empty; up to `until`, if given, of its partition.

    Rows come first and checkpoints last, so that a replay that was stopped has none.
    """
    processor = Processor()
    replayed = Replayed()
    for topic, partition, *_ in store.query("check_log").rows:
        after = -1
        last = Position(str(topic), int(str(partition)), -1, 0)
        while batch := _next(store, last, after, until):
            after = batch[-1].archived.offset
            last = Position(last.topic, last.partition, after, batch[-1].archived.index)
            _check_columns(batch, replayed)
            folded = processor.fold(batch)
            store.write(generation, folded.rows)
            _count(folded, batch, replayed, progress)
        for checkpoint in processor.checkpoints(last):
            store.save_checkpoint(generation, checkpoint)
            replayed.checkpoints[checkpoint.cluster] = checkpoint
    return replayed


def _next(store: Store, last: Position, after: int, until: Position | None) -> list[Record]:
    archived = store.read_events(last.topic, last.partition, after, BATCH)
    if until is not None and (until.topic, until.partition) == (last.topic, last.partition):
        archived = [a for a in archived if (a.offset, a.index) <= (until.offset, until.index)]
    return [from_archive(a) for a in archived]


def _count(folded: Folded, batch: list[Record], replayed: Replayed, progress: Progress | None) -> None:
    replayed.dead_letters += folded.dead_letters
    replayed.outcomes += folded.outcomes
    replayed.records += len(batch)
    for (topic, partition, offset, index, cluster, *_), _ in batch:
        replayed.last[cluster] = replayed.ends[topic, partition] = Position(topic, partition, offset, index)
    if progress is not None:
        progress(len(batch))


def _check_columns(batch: list[Record], replayed: Replayed) -> None:
    """The columns beside the bytes are read by people: they must say the same."""
    replayed.misfiled += [r.archived for r in batch if not _filed_right(r)]


def _filed_right(record: Record) -> bool:
    from_bytes = record.filed()
    kept = record.archived
    return from_bytes == (kept.cluster, kept.source, kept.event_id, kept.type, kept.occurred_us)
