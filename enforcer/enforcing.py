"""The role of `tenure enforce` on Kafka: it follows partitions of events, and writes what is due back into them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final

from enforcer.clusters import Enforcers
from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from streams.kafka import StreamError
from streams.kafka.producer import Publisher
from streams.runtime.follower import Follower
from streams.runtime.patience import Patience
from streams.runtime.role import Blocking, Owned, Taker
from streams.topics import EVENTS, Topic

LOG: Final = logging.getLogger(__name__)
A_SECOND_S: Final = 1.0
"""What time alone makes due is due at a whole second."""


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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._read = asyncio.Event()
        """Something was read since the last look."""

    @property
    def trouble(self) -> str:
        """What the store is waited for with."""
        return self._patience.told

    def taker(self, partition: Partition, _: int) -> Taker:
        """The same books as their owner's."""
        return Follower(self._store, partition, self._patience, self._wake)

    def _wake(self) -> None:
        """From the thread that reads."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._read.set)

    async def live(self, owned: Callable[[], Sequence[Owned]], blocking: Blocking) -> None:
        """Look, whenever something was read and every second, at the partitions that are read to their end: of others
        the book is not the present.
        """
        self._loop = asyncio.get_running_loop()
        while True:
            await self._pause()
            for follower in [at.taker for at in owned() if at.behind == 0]:
                if isinstance(follower, Follower):
                    await self._look(follower, blocking)

    async def _pause(self) -> None:
        left_s = A_SECOND_S - self._clock().microsecond / 1_000_000
        with suppress(TimeoutError):
            await asyncio.wait_for(self._read.wait(), left_s)
        self._read.clear()

    async def _look(self, follower: Follower, blocking: Blocking) -> None:
        wanted = await blocking(partial(self._enforcers.look, follower.processor))
        try:
            for cluster, raw in wanted:
                await asyncio.to_thread(self._publisher.put, *follower.partition, cluster, raw)
        except StreamError as away:
            LOG.warning("nothing written for %s: %s", follower.partition, away)
