"""The role of `tenure enforce` on Kafka: it follows partitions of events, and writes what is due back into them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from enforcer.clusters import Enforcers
from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from ledger.units import epoch_s
from streams.kafka import StreamError
from streams.kafka.producer import Publisher
from streams.runtime.follower import Follower
from streams.runtime.patience import Patience
from streams.runtime.role import Blocking, Owned, Taker
from streams.topics import EVENTS, Topic

LOG: Final = logging.getLogger(__name__)
LOOK_S: Final = 0.25


class Enforcing:
    """One enforcer per cluster of the partitions this worker was given; who was given one acts alone."""

    topics: Final[Sequence[Topic]] = (EVENTS,)

    def __init__(
        self,
        store: Store,
        publisher: Publisher,
        enforcers: Enforcers,
        patience: Patience,
        clock: Callable[[], datetime],
    ) -> None:
        """The store is only read."""
        self._store = store
        self._publisher = publisher
        self._enforcers = enforcers
        self._patience = patience
        self._clock = clock

    @property
    def trouble(self) -> str:
        """What the store is waited for with."""
        return self._patience.told

    def taker(self, partition: Partition, _: int) -> Taker:
        """The same books as their owner's."""
        return Follower(self._store, partition, self._patience)

    async def live(self, owned: Callable[[], Sequence[Owned]], blocking: Blocking) -> None:
        """Look again and again at the partitions that are read to their end: of others the book is not the present."""
        while True:
            await asyncio.sleep(LOOK_S)
            for follower in [at.taker for at in owned() if at.behind == 0]:
                if isinstance(follower, Follower):
                    await self._look(follower, blocking)

    async def _look(self, follower: Follower, blocking: Blocking) -> None:
        now_s = epoch_s(self._clock())
        wanted = await blocking(partial(self._enforcers.look, follower.processor, now_s))
        try:
            for cluster, raw in wanted:
                await asyncio.to_thread(self._publisher.put, *follower.partition, cluster, raw)
        except StreamError as away:
            LOG.warning("nothing written for %s: %s", follower.partition, away)
