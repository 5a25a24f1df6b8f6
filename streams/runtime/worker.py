"""A worker on Kafka: Faust brings the records of the partitions it is given, a lane for each takes them.

Faust is used for membership, fetching and delivery. Where to read on is said by our checkpoints alone, and so it does
not matter what Faust remembers: positions are set from them whenever partitions are assigned. After any error the
worker stops, and the next one goes on from the checkpoints.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import faust
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP, EventT, StreamT
from mode.services import WaitArgT, WaitResults

from ledger.checkpoint import Partition
from streams.kafka.errors import StreamError
from streams.runtime import page
from streams.runtime.begun import Begun
from streams.runtime.collector import calm
from streams.runtime.health import Health, LaneHealth
from streams.runtime.lane import Lane
from streams.runtime.patience import Patience
from streams.runtime.role import Owned, Role
from streams.topics import SAMPLES, Topic

T = TypeVar("T")

LOG: Final = logging.getLogger(__name__)
TAKE_RECORDS: Final = 500
DRAINING: Final = 0.75
"""The part of the rebalance's time a revoke may take to carry through what is being written. Whoever takes longer is
left behind by the group; the next owner goes on from the checkpoints anyway."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a worker runs."""

    address: str
    name: str = "tenure"
    take_within_s: float = 0.1
    save_every_s: float = 10.0
    stall_s: float = 120.0
    session_s: float = 10.0
    """After so long without a sign of life a worker's partitions go to others."""
    rebalance_s: float = 60.0
    """So long the group waits for all to give up their partitions, and for one that died while it joined."""
    join_s: float = 180.0
    """A worker that the group has told nothing for so long begins anew; in half of it, its health turns red."""
    health_port: int = 0
    health_host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Machine:
    """What a worker and its role ask of the machine. Faust wants a `folder`, and leaves nothing of worth there."""

    clock: Callable[[], datetime]
    monotonic_s: Callable[[], float]
    folder: Path
    patience: Patience


class Worker:
    """Owns partitions as the group gives them to it, until it is stopped or something fails."""

    def __init__(self, role: Role, settings: Settings, machine: Machine) -> None:
        """A worker for a role, not yet begun."""
        self._role = role
        self._settings = settings
        self._machine = machine
        self._thread = ThreadPoolExecutor(1, "tenure-writer")
        self._lanes: dict[TP, Lane] = {}
        self._runs: dict[TP, asyncio.Task[None]] = {}
        self._failure: BaseException | None = None
        self._changing = asyncio.Lock()
        """Lanes are opened or closed."""
        self._outside_since_s: float | None = machine.monotonic_s()
        """Since when the group has said nothing of partitions; None while it has."""
        self._stop_wanted = asyncio.Event()
        self._left = asyncio.Event()
        self.app: Final = application(settings, machine.folder, self, role.topics)
        self.app.on_partitions_revoked.connect(self._revoked)  # type: ignore[arg-type]  # it wants one name of the sender
        self.app.on_partitions_assigned.connect(self._assigned)  # type: ignore[arg-type]

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Work until `stop` is called; raises what made it fail."""
        life = [asyncio.create_task(work) for work in (self._live(), self._watch(), self._stop_wanted.wait())]
        try:
            ended, _ = await asyncio.wait(life, return_when=asyncio.FIRST_COMPLETED)
            wrongs = [wrong for task in ended if (wrong := task.exception()) is not None]
            self._failure = self._failure or next(iter(wrongs), None)
        finally:
            self._stop_wanted.set()
            await self._leave()
            for task in life:
                task.cancel()
            await asyncio.gather(*life, return_exceptions=True)
            self._left.set()
        if self._failure is not None:
            raise self._failure
        if self.app.crashed and self.app.crash_reason is not None:
            raise self.app.crash_reason

    async def stop(self) -> None:
        """Carry through what is being taken, checkpoint and acknowledge it, and leave the group; `run` returns then."""
        self._stop_wanted.set()
        await self._left.wait()

    async def _live(self) -> None:
        await self.app.start()
        besides = asyncio.create_task(self._besides())
        try:
            await self.app.wait_until_stopped()
        finally:
            besides.cancel()

    async def _watch(self) -> None:
        """Raise a StreamError where the group says nothing for too long: a join that was cut off waits for ever."""
        while self._outside_s() < self._settings.join_s:  # noqa: ASYNC110 -- it is time that is waited for
            await asyncio.sleep(1)
        address, waited_s = self._settings.address, round(self._outside_s())
        raise StreamError(f"the group at {address} has given no partitions for {waited_s} s: start the worker again")

    def _outside_s(self) -> float:
        """For how long the group has said nothing of partitions."""
        return 0.0 if self._outside_since_s is None else self._machine.monotonic_s() - self._outside_since_s

    async def _leave(self) -> None:
        if self._failure is None:
            await self._close(list(self._lanes))
            if self.app.consumer.started:
                await self.app.consumer.commit()
        await self.app.stop()
        self._thread.shutdown(wait=self._failure is None, cancel_futures=True)

    async def deliver(self, events: list[EventT[Any]]) -> None:
        """Give records to the lanes of their partitions; what came for a partition given away is left to its owner."""
        if self._failure is not None:
            return
        by_partition: dict[TP, list[EventT[Any]]] = {}
        for event in events:
            by_partition.setdefault(event.message.tp, []).append(event)
        for tp, of_partition in by_partition.items():
            lane = self._lanes.get(tp)
            if lane is not None:
                await lane.offer(of_partition)

    # ------------------------------------------------------------ partitions

    async def positions(self, assigned: set[TP], committed: dict[TP, int]) -> dict[TP, int]:
        """Open a lane for each assigned partition; the offset to read each from. None while the worker leaves.

        Faust asks for positions from two sides at once, and while partitions are still being given away.
        """
        async with self._changing:
            if self._stop_wanted.is_set():
                return {}
            new = [tp for tp in assigned if tp not in self._lanes]
            unread = [tp for tp in new if tp.topic == SAMPLES.name and tp not in committed]
            begins = {**committed, **(await self.app.consumer.earliest_offsets(*unread) if unread else {})}
            for tp in new:
                await self._open(tp, begins.get(tp, 0))
            if new:
                calm()
            return {tp: self._lanes[tp].owner.next_offset for tp in assigned}

    async def _open(self, tp: TP, begin: int) -> None:
        owner = await self._blocking(partial(self._role.taker, Partition(tp.topic, tp.partition), begin))
        lane = Lane(
            owner,
            seek=lambda offset: self._seek(tp, offset),
            blocking=self._blocking,
            monotonic_s=self._machine.monotonic_s,
            save_every_s=self._settings.save_every_s,
        )
        self._lanes[tp] = lane
        self._runs[tp] = asyncio.create_task(self._guard(lane))
        LOG.info("owns %s from offset %d on", owner.partition, owner.next_offset)

    async def _guard(self, lane: Lane) -> None:
        """A lane that fails stops the whole worker: nothing later may be acknowledged."""
        try:
            await lane.run()
        except Exception as wrong:  # noqa: BLE001 -- whatever it is, it must stop the worker
            await self._fail(wrong)

    async def _fail(self, wrong: Exception) -> None:
        if self._failure is None:
            self._failure = wrong
            LOG.critical("stops: %s", wrong)
            await self.app.crash(wrong)

    async def _seek(self, tp: TP, offset: int) -> None:
        """Read again from an offset; StreamError where Kafka has let go of it."""
        earliest = (await self.app.consumer.earliest_offsets(tp))[tp]
        if earliest > offset:
            raise StreamError(
                f"Kafka no longer has the records {offset} to {earliest - 1} of {tp.topic}/{tp.partition}, and neither "
                "has the store: restore the store from a copy that has them"
            )
        await self.app.consumer.seek(tp, offset)

    async def _assigned(self, _: object, *__: set[TP], **___: object) -> None:
        self._outside_since_s = None

    async def _revoked(self, _: object, *revoked: set[TP], **__: object) -> None:
        self._outside_since_s = self._machine.monotonic_s()
        await self._close({tp for tps in revoked for tp in tps})

    async def _close(self, revoked: Iterable[TP]) -> None:
        async with self._changing:
            closing = [tp for tp in revoked if tp in self._lanes]
            for tp in closing:
                self._lanes.pop(tp).close()
            runs = [self._runs.pop(tp) for tp in closing]
            if runs:
                _, late = await asyncio.wait(runs, timeout=DRAINING * self._settings.rebalance_s)
                for run in late:
                    run.cancel()

    async def _blocking(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _besides(self) -> None:
        """What the role does by itself; a worker that no longer does it must not look well."""
        try:
            await self._role.live(self._owned, self._blocking)
        except Exception as wrong:  # noqa: BLE001 -- whatever it is, it must stop the worker
            await self._fail(wrong)

    def _owned(self) -> list[Owned]:
        ends: dict[TP, int | None] = {tp: self.app.consumer.highwater(tp) for tp in self._lanes}
        return [
            Owned(lane.owner, None if (end := ends[tp]) is None else max(0, end - lane.owner.next_offset))
            for tp, lane in self._lanes.items()
        ]

    # ------------------------------------------------------------ health

    def health(self) -> Health:
        """How far each partition is, and whether one stands still."""
        now_s = self._machine.monotonic_s()
        lanes = [
            LaneHealth(
                partition=str(lane.owner.partition),
                next_offset=lane.owner.next_offset,
                lag=max(0, (self.app.consumer.highwater(tp) or 0) - lane.owner.next_offset),
                waiting=lane.waiting,
                last_take_age_s=now_s - lane.ages.took_s,
                last_commit_age_s=now_s - lane.ages.saved_s,
                unsaved=lane.owner.unsaved,
            )
            for tp, lane in self._lanes.items()
        ]
        return Health(tuple(lanes), self._trouble(), self._settings.stall_s)

    def _trouble(self) -> str:
        if self._failure is not None:
            return str(self._failure)
        if self._outside_s() > self._settings.join_s / 2:
            return f"the group has given it no partitions for {self._outside_s():.0f} s"
        return self._role.trouble


def application(settings: Settings, folder: Path, worker: Worker, topics: Iterable[Topic]) -> faust.App:
    """The Faust app: one agent per topic, no table, no topic of Faust's own."""
    app = faust.App(
        settings.name,
        broker=f"kafka://{settings.address}",
        datadir=folder,
        store="memory://",
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,
        broker_commit_interval=1.0,
        broker_session_timeout=settings.session_s,
        broker_heartbeat_interval=settings.session_s / 3,
        broker_rebalance_timeout=settings.rebalance_s,
        web_enabled=bool(settings.health_port),
        web_bind=settings.health_host,
        web_host=settings.health_host,
        web_port=settings.health_port or 6066,
        web_router_enabled=False,
        web_tables_enabled=False,
    )
    page.tell(app, worker.health)
    app.transport.Consumer = _consumer(worker)  # type: ignore[misc]  # Faust asks the instance; there is no other way in
    within_s = settings.take_within_s
    for topic in topics:
        records = app.topic(topic.name, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")

        @app.agent(records, name=topic.name, isolated_partitions=True)
        async def deliver(stream: StreamT[bytes]) -> None:
            async for events in stream.noack_take(TAKE_RECORDS, within=within_s):  # type: ignore[attr-defined]
                await worker.deliver(events)

    return app


def _close(waits: Iterable[WaitArgT]) -> None:
    """Let go of what nobody is going to wait for."""
    for wait in waits:
        if isinstance(wait, Coroutine):
            wait.close()


def _consumer(worker: Worker) -> type[Consumer]:
    class Checkpointed(Consumer):
        """Faust's consumer, reading on from our checkpoints: this is the one place where it sets positions."""

        async def perform_seek(self) -> None:
            await super().perform_seek()
            committed = {tp: offset for tp, offset in self._committed_offset.items() if offset is not None}
            for tp, offset in (await worker.positions(self.assignment(), committed)).items():
                await self.seek(tp, offset)
                self._committed_offset[tp] = offset or None

        async def wait_first(self, *coros: WaitArgT, timeout: Any = None) -> WaitResults:  # noqa: ANN401, ASYNC109
            """As Faust's, which makes four tasks for every record; most are delivered without any waiting."""
            delivery, *others = coros
            if not isinstance(delivery, Coroutine) or self.should_stop:
                return await super().wait_first(*coros, timeout=timeout)
            try:
                begun = Begun(delivery)
            except BaseException:
                _close(others)
                raise
            if not begun.done:
                return await super().wait_first(begun, *others, timeout=timeout)
            _close(others)
            return WaitResults([delivery], [begun.result], stopped=False)

    return Checkpointed
