"""The role of `tenure worker`: to own partitions of the log and of samples, and tick for the clusters living there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from ledger.units import epoch_s, instant
from streams.kafka.errors import StreamError
from streams.kafka.producer import Publisher
from streams.runtime.owner import Owner
from streams.runtime.role import Blocking, Owned, Taker
from streams.runtime.sampled import Sampled
from streams.runtime.ticking import ticks
from streams.runtime.worker import Machine
from streams.topics import LOGS, SAMPLES, Topic

LOG: Final = logging.getLogger(__name__)


class Folding:
    """Writes what comes in by Kafka into the book."""

    topics: Final[Sequence[Topic]] = (*LOGS, SAMPLES)

    def __init__(self, store: Store, publisher: Publisher, machine: Machine, tick_s: int) -> None:
        """Over an open, migrated store; the publisher is for ticks. `tick_s` 0: none, the log brings its own."""
        self._store = store
        self._publisher = publisher
        self._patience = machine.patience
        self._clock = machine.clock
        self._tick_s = tick_s

    @property
    def trouble(self) -> str:
        """What the store is waited for with."""
        return self._patience.told

    def taker(self, partition: Partition, begin: int) -> Taker:
        """The partition's owner. Where to read on is in the store; of samples, Kafka knows."""
        if partition.topic == SAMPLES.name:
            return Sampled(self._store, partition, self._patience, begin)
        return Owner(self._store, partition, self._patience)

    async def live(self, owned: Callable[[], Sequence[Owned]], _: Blocking) -> None:
        """Every `tick_s` seconds of the clock, a tick for each cluster that lives in a partition owned here."""
        every_s = self._tick_s
        if not every_s:
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(every_s - epoch_s(self._clock()) % every_s)
            at_s = epoch_s(self._clock()) // every_s * every_s
            try:
                await self._tick([at.taker for at in owned()], at_s)
            except StreamError as away:
                LOG.warning("no tick at %s: %s", instant(at_s), away)

    async def _tick(self, owners: Sequence[Taker], at_s: int) -> None:
        for owner in owners:
            if isinstance(owner, Owner):
                for cluster, raw in ticks(owner.processor, at_s):
                    await asyncio.to_thread(self._publisher.put, *owner.partition, cluster, raw)
