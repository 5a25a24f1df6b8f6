"""The owner of one partition of `tenure.samples`: batches go into their table, and into sums where hours are closed.

Samples are not part of any book, so there is nothing to fold on and no checkpoint: Kafka's own offsets say how far they
are kept. A batch that comes twice is kept once.

Hours are summed by the owner of the events when they close, and here when samples come for an hour that is closed. A
sum of the owner's may have begun before those samples came, and be written after ours; it belongs to a tick that is
checkpointed after it. So an hour is summed here at once, and once more when the checkpoint has moved on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from ledger.checkpoint import Partition
from ledger.events import GpuSampled
from ledger.outcomes import Refused
from ledger.store.protocol import Store
from streams.batches import split
from streams.intake import Record, dead_letter, record
from streams.runtime.owner import Message
from streams.runtime.patience import Patience
from streams.runtime.samples import Sums, columns_of

NOT_A_SAMPLE: Final = Refused("wrong_topic", "only gpu.sampled belongs on this topic: send it to tenure.events")


class Sampled:
    """Writes one partition of samples. Every method blocks, and may raise a StoreError."""

    def __init__(self, store: Store, partition: Partition, patience: Patience, next_offset: int) -> None:
        """Go on at an offset; the last sums of every cluster may be lost, and are made again."""
        self._store = store
        self._patience = patience
        self._sums = Sums()
        self._once: dict[str, tuple[int, set[int]]] = {}
        """By cluster: the tick of the last checkpoint seen, and the hours summed once under it."""
        self.partition: Final = partition
        self.next_offset = next_offset
        self.unsaved = False
        self.unsettled = False
        for cluster, (closed_until_s, _) in patience.insist(self._closed).items():
            self._sums.resumed(cluster, closed_until_s)

    def take(self, messages: Sequence[Message]) -> int | None:
        """Keep what is new; the offset to read again from, where records are missing before the rest."""
        records: list[Record] = []
        for message in messages:
            if message.offset == self.next_offset:
                raws = split(message.value)
                place = (self.partition, message.offset, message.recorded_us)
                records += [record(raw, *place, n) for n, raw in enumerate(raws)]
                self.next_offset += 1
        self._keep(records)
        return self.next_offset if messages and messages[-1].offset >= self.next_offset else None

    def _keep(self, records: list[Record]) -> None:
        samples = [r.event for r in records if isinstance(r.event, GpuSampled)]
        letters = [
            dead_letter(r.archived, r.event if isinstance(r.event, Refused) else NOT_A_SAMPLE)
            for r in records
            if not isinstance(r.event, GpuSampled)
        ]
        if letters:
            self._patience.insist(lambda: self._store.write_dead_letters(letters))
        if samples:
            columns = columns_of(samples)
            self._patience.insist(lambda: self._store.write_samples(columns))
            self._sums.sampled(columns)
        self.unsaved |= bool(records)

    def save(self) -> None:
        """Sum the samples that came for closed hours. What came is kept already."""
        generation = self._patience.insist(self._store.live_generation)
        for cluster, (closed_until_s, ticked_s) in self._patience.insist(self._closed).items():
            seen_s, once = self._once.get(cluster, (ticked_s, set()))
            again = once if ticked_s > seen_s else set()
            self._sums.due(cluster, again)
            make = partial(self._sums.make, self._store, generation, cluster, closed_until_s, ticked_s)
            self._once[cluster] = (ticked_s, (once | set(self._patience.insist(make))) - again)
        self.unsaved = False
        self.unsettled = any(once for _, once in self._once.values())

    def _closed(self) -> dict[str, tuple[int, int]]:
        """By cluster: hours before that are closed, and its last tick."""
        return {str(c): (int(str(until)), int(str(at))) for c, until, at in self._store.query("closed_hours").rows}
