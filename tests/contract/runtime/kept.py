"""Rows as a reader of the store finds them: one per key, the highest seq; of provisional hours only the last tick's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ledger import rows
from ledger.checkpoint import Checkpoint, Position
from ledger.rows import Row
from streams.intake import Record
from streams.processor import Folded, Processor

Tables = dict[type[Row], dict[tuple[Any, ...], Any]]

KEYS: dict[type[Row], tuple[str, ...]] = {
    rows.Posting: (*("cluster", "pool", "hour_s", "book", "account", "class_", "kind", "node", "run", "cause"),),
    rows.AccountHour: ("cluster", "pool", "account", "hour_s", "cause"),
    rows.ClusterHour: ("cluster", "pool", "hour_s", "cause"),
    rows.NodeHour: ("cluster", "pool", "node", "hour_s"),
    rows.OpenHour: ("cluster", "pool", "account", "hour_s"),
    rows.Run: ("cluster", "job", "attempt"),
    rows.Job: ("cluster", "job"),
    rows.Share: ("cluster", "pool", "parent", "revision", "child"),
    rows.Grant: ("cluster", "pool", "account", "grant", "seq"),
    rows.Maintenance: ("cluster", "window"),
    rows.Decision: ("cluster", "seq", "kind", "subject"),
    rows.Correction: ("cluster", "seq"),
    rows.Remark: ("cluster", "seq", "name", "subject", "source", "event_id"),
    rows.Plan: ("cluster", "plan"),
    rows.Preemption: ("cluster", "plan", "job", "attempt"),
}
"""What makes a row replace another of its table; a contract test holds this against the tables."""


class Kept:
    """What a store keeps of the rows it is given, and how far the processor that made them has come."""

    def __init__(self) -> None:
        self.tables: Tables = defaultdict(dict)
        self.dead_letters: dict[Position, Any] = {}
        self.accounts: dict[str, Any] = {}
        self.checkpoints: dict[str, Checkpoint] = {}

    def keep(self, folded: Folded) -> None:
        """Write a batch."""
        for kind, made in folded.rows.items():
            for row in made:
                key = tuple(getattr(row, name) for name in KEYS[kind])
                known = self.tables[kind].get(key)
                if known is None or known.seq <= row.seq:
                    self.tables[kind][key] = row
        for letter in folded.dead_letters:
            self.dead_letters[Position(letter.topic, letter.partition, letter.offset, letter.index)] = letter
        for entry in folded.accounts:
            known = self.accounts.get(entry.account)
            if known is None or known.occurred_us <= entry.occurred_us:
                self.accounts[entry.account] = entry

    def read(self) -> dict[str, dict[tuple[Any, ...], Any]]:
        """Every table by key."""
        found = {rows.TABLES[kind]: dict(table) for kind, table in self.tables.items() if table}
        found["open_hours"] = last_open_hours(self.tables[rows.OpenHour])
        return found


def last_open_hours(table: Mapping[tuple[Any, ...], Any]) -> dict[tuple[Any, ...], Any]:
    """Provisional hours of each cluster's last tick; those of earlier ticks are stale."""
    last: dict[str, int] = {}
    for row in table.values():
        last[row.cluster] = max(row.seq, last.get(row.cluster, 0))
    return {key: row for key, row in table.items() if row.seq == last[row.cluster]}


def fold(records: Sequence[Record], sizes: Iterable[int], *, restart_after: Iterable[int] = ()) -> Kept:
    """Fold records in batches of these sizes, again and again; checkpoints are taken at the end.

    After the batches numbered in `restart_after`, checkpoints are taken and a new processor goes on from them.
    """
    kept, processor, restarts = Kept(), Processor(), set(restart_after)
    sizes = list(sizes)
    done = number = 0
    while done < len(records):
        batch = records[done : done + sizes[number % len(sizes)]]
        done += len(batch)
        kept.keep(processor.fold(batch))
        if number in restarts:
            kept.checkpoints = save(processor, batch[-1], kept.checkpoints)
            processor = Processor(kept.checkpoints.values())
        number += 1
    if records:
        kept.checkpoints = save(processor, records[-1], kept.checkpoints)
    return kept


def save(processor: Processor, last: Record, known: Mapping[str, Checkpoint] | None = None) -> dict[str, Checkpoint]:
    """The checkpoints after the record, beside those that did not change."""
    at = last.archived
    position = Position(at.topic, at.partition, at.offset, at.index)
    return {**(known or {}), **{c.cluster: c for c in processor.checkpoints(position)}}
