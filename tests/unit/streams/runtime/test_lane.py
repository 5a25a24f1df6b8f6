"""A lane: what arrives while a batch is written is the next batch, and what is saved is acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from ledger.checkpoint import Partition
from ledger.store.errors import StoreFull
from streams.runtime import lane as lane_module
from streams.runtime.lane import Lane
from streams.runtime.owner import Message

T = TypeVar("T")


@dataclass
class Told:
    offset: int
    timestamp: float = 1_000.5
    value: bytes | None = b"?"


@dataclass
class Event:
    """Faust's event, as much of it as a lane looks at."""

    offset: int
    acked: int = 0
    message: Told = field(init=False)

    def __post_init__(self) -> None:
        self.message = Told(self.offset)

    def ack(self) -> bool:
        self.acked += 1
        return True


class Taker:
    """Takes what is consecutive; says what it was asked."""

    partition = Partition("t", 0)
    unsettled: bool = False

    def __init__(self) -> None:
        self.unsaved = False
        self.next_offset = 0
        self.batches: list[list[int]] = []
        self.saves = 0
        self.fails: Exception | None = None
        self.moves_to: int | None = None

    def take(self, messages: Sequence[Message]) -> int | None:
        if self.fails is not None:
            raise self.fails
        self.batches.append([m.offset for m in messages])
        for message in messages:
            if message.offset == self.next_offset:
                self.next_offset += 1
                self.unsaved = True
        return self.next_offset if messages[-1].offset >= self.next_offset else None

    def save(self) -> None:
        self.saves += 1
        self.unsaved = False
        if self.moves_to is not None:
            self.next_offset, self.moves_to = self.moves_to, None


class Bench:
    """A lane over a taker, with a clock that is moved by hand and blocking calls that may be held up."""

    def __init__(self, *, save_every_s: float = 10.0) -> None:
        self.taker = Taker()
        self.sought: list[int] = []
        self.now_s = 0.0
        self.gate = asyncio.Event()
        self.gate.set()
        self.lane = Lane(
            self.taker,
            seek=self.seek,
            blocking=self.blocking,
            monotonic_s=lambda: self.now_s,
            save_every_s=save_every_s,
        )
        self.running = asyncio.create_task(self.lane.run())

    async def seek(self, offset: int) -> None:
        self.sought.append(offset)

    async def blocking(self, call: Callable[[], T]) -> T:
        await self.gate.wait()
        return call()

    async def offer(self, *offsets: int) -> list[Event]:
        events = [Event(offset) for offset in offsets]
        given: Any = events
        await self.lane.offer(given)
        await settle()
        return events

    async def close(self) -> None:
        self.lane.close()
        await self.running


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def on_a_bench(test: Callable[[Bench], Awaitable[None]], **settings: Any) -> None:
    async def run() -> None:
        bench = Bench(**settings)
        await test(bench)
        if not bench.running.done():
            await bench.close()

    asyncio.run(run())


def test_what_gathers_during_a_write_is_one_batch():
    async def test(bench: Bench) -> None:
        bench.gate.clear()
        await bench.offer(0)
        await bench.offer(1)
        await bench.offer(2, 3)
        assert bench.lane.waiting == 3
        bench.gate.set()
        await settle()
        assert bench.taker.batches == [[0], [1, 2, 3]]

    on_a_bench(test)


def test_nothing_is_acknowledged_before_it_is_saved():
    async def test(bench: Bench) -> None:
        events = await bench.offer(0, 1)
        assert (bench.taker.saves, [e.acked for e in events]) == (0, [0, 0])
        bench.now_s = 11
        more = await bench.offer(2)
        assert bench.taker.saves == 1
        assert [e.acked for e in (*events, *more)] == [1, 1, 1]

    on_a_bench(test)


def test_a_save_falls_due_without_another_record():
    async def test(bench: Bench) -> None:
        (event,) = await bench.offer(0)
        bench.now_s = 0.03
        await asyncio.sleep(0.1)
        assert (bench.taker.saves, event.acked) == (1, 1)

    on_a_bench(test, save_every_s=0.02)


def test_where_a_record_is_missing_the_lane_reads_again_and_acknowledges_nothing_beyond():
    async def test(bench: Bench) -> None:
        events = await bench.offer(0, 2, 3)
        assert bench.sought == [1]
        again = await bench.offer(1, 2, 3)
        await bench.close()
        assert [e.acked for e in events] == [1, 0, 0]
        assert [e.acked for e in again] == [1, 1, 1]

    on_a_bench(test)


def test_closing_carries_through_what_is_being_taken_and_leaves_the_rest():
    async def test(bench: Bench) -> None:
        bench.gate.clear()
        taken = await bench.offer(0)
        left = await bench.offer(1)
        bench.lane.close()
        bench.gate.set()
        await bench.running
        assert bench.taker.batches == [[0]]
        assert (taken[0].acked, left[0].acked) == (1, 0)

    on_a_bench(test)


def test_a_closed_lane_lets_go_of_who_waits_for_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lane_module, "WAITING", 2)

    async def test(bench: Bench) -> None:
        bench.gate.clear()
        await bench.offer(0)
        await bench.offer(1, 2)
        waiting = asyncio.create_task(bench.offer(3))
        await settle()
        assert not waiting.done()
        bench.lane.close()
        bench.gate.set()
        await waiting

    on_a_bench(test)


def test_what_the_owner_raises_ends_the_lane_and_acknowledges_nothing():
    async def test(bench: Bench) -> None:
        bench.taker.fails = StoreFull("no space")
        events = await bench.offer(0)
        with pytest.raises(StoreFull):
            await bench.running
        assert events[0].acked == 0

    on_a_bench(test)


def test_an_owner_that_went_over_to_another_generation_is_fed_from_there():
    async def test(bench: Bench) -> None:
        await bench.offer(0, 1, 2)
        bench.taker.moves_to = 1
        bench.now_s = 11
        await bench.offer(3)
        assert bench.sought == [1]

    on_a_bench(test)


def test_an_idle_lane_looks_now_and_then_whether_there_is_something_to_do(monkeypatch: pytest.MonkeyPatch):
    """The views may show another generation, and nobody sends anything."""
    monkeypatch.setattr(lane_module, "IDLE_S", 0.02)

    async def test(bench: Bench) -> None:
        bench.taker.unsettled = True
        bench.now_s = 1.0
        await bench.offer()
        await asyncio.sleep(0.05)
        assert bench.taker.saves >= 1

    on_a_bench(test, save_every_s=0.01)
