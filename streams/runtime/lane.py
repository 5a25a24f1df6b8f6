"""One partition this worker owns: what Faust delivers waits here, is taken by the owner, and acknowledged when saved.

Two things go on at once: records arrive and wait, while what arrived before is folded and written in a thread. What has
gathered by then is the next batch. A record is acknowledged when a checkpoint speaks of it, and not before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from faust.types import EventT

from streams.runtime.owner import Message
from streams.runtime.role import Blocking, Taker

WAITING: Final = 2_000
"""Records that may wait before Faust is held back: some more than one batch."""
SAVING_SHARE: Final = 20
"""A checkpoint is made no more often than leaves it one part in so many of the time."""
LONGEST_S: Final = 60.0
"""But at least once a minute."""
IDLE_S: Final = 10.0
"""A lane with nothing to save still looks so often, whether the views show another generation."""


@dataclass(slots=True)
class Ages:
    """When the lane last got on, by the worker's own clock, in seconds."""

    took_s: float
    saved_s: float
    saving_s: float = 0.0
    """How long the last checkpoint took."""


class Lane:
    """Feeds one owner. `seek` makes Faust deliver from an offset on again."""

    def __init__(
        self,
        owner: Taker,
        *,
        seek: Callable[[int], Awaitable[None]],
        blocking: Blocking,
        monotonic_s: Callable[[], float],
        save_every_s: float,
    ) -> None:
        self.owner: Final = owner
        self.ages: Final = Ages(monotonic_s(), monotonic_s())
        self._seek = seek
        self._blocking = blocking
        self._now_s = monotonic_s
        self._save_every_s = save_every_s
        self._waiting: deque[EventT[Any]] = deque()
        self._unacked: list[EventT[Any]] = []
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._closing = False

    @property
    def waiting(self) -> int:
        """Records that arrived and are not taken."""
        return len(self._waiting)

    async def offer(self, events: Sequence[EventT[Any]]) -> None:
        """Put records behind those that wait; waits itself while there are too many."""
        while len(self._waiting) >= WAITING and not self._closing:
            self._room.clear()
            await self._room.wait()
        self._waiting.extend(events)
        self._arrived.set()

    async def run(self) -> None:
        """Take and save until closed; raises what the owner raises."""
        while not self._closing:
            await self._pause()
            await self._take()
            if self._wants_save and self._now_s() >= self._save_due_s():
                await self._save()
        if self.owner.unsaved:
            await self._save()

    def close(self) -> None:
        """Let `run` end: what is being taken is carried through and saved, what waits is left to the next owner."""
        self._closing = True
        self._arrived.set()
        self._room.set()

    async def _pause(self) -> None:
        """Until records arrive, or a checkpoint is due."""
        left_s = max(0.0, self._save_due_s() - self._now_s()) if self._wants_save else None
        try:
            await asyncio.wait_for(self._arrived.wait(), left_s)
        except TimeoutError:
            return
        self._arrived.clear()

    async def _take(self) -> None:
        if not self._waiting or self._closing:
            return
        events = list(self._waiting)
        self._waiting.clear()
        self._room.set()
        messages = [_message(event) for event in events]
        again = await self._blocking(lambda: self.owner.take(messages))
        self._unacked += [event for event in events if event.message.offset < self.owner.next_offset]
        self.ages.took_s = self._now_s()
        if again is not None:
            self._waiting.clear()
            await self._seek(again)

    async def _save(self) -> None:
        upto = self.owner.next_offset
        self.ages.saving_s = await self._blocking(self._timed_save)
        self.ages.saved_s = self._now_s()
        for event in self._unacked:
            event.ack()
        self._unacked.clear()
        if self.owner.next_offset != upto:
            await self._seek(self.owner.next_offset)

    @property
    def _wants_save(self) -> bool:
        return self.owner.unsaved or self.owner.unsettled

    def _timed_save(self) -> float:
        """Seconds it took, without those it waited for the thread."""
        begun_s = self._now_s()
        self.owner.save()
        return self._now_s() - begun_s

    def _save_due_s(self) -> float:
        every_s = self._save_every_s if self.owner.unsaved else max(self._save_every_s, IDLE_S)
        return self.ages.saved_s + max(every_s, min(SAVING_SHARE * self.ages.saving_s, LONGEST_S))


def _message(event: EventT[Any]) -> Message:
    told = event.message
    return Message(told.offset, round(told.timestamp * 1000) * 1000, told.value or b"")
