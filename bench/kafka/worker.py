"""Our worker in a process of its own, as `tenure worker` makes one, until it has taken and checkpointed what it is to.

    python -m bench.kafka.worker '{"address": "127.0.0.1:9092", "server": "http://127.0.0.1:8123/tenure", ...}'

Says on lines of JSON what it has done; with `gate` it waits for a line after it has said which partitions it has.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, time
from typing import Any

from bench.kafka.watch import Watch
from ledger.checkpoint import Checkpoint
from ledger.rows import Row, Run
from streams.kafka import letters
from streams.runtime.folding import Folding
from streams.runtime.owner import Owner
from streams.runtime.worker import Settings, Worker
from tenure import wiring

LOOK_S = 0.02


@dataclass(slots=True)
class Task:
    """What a worker is to do. `server` '' keeps the book in this process.

    `until` is the end of each partition it may own; `partitions` so many of them it waits for at its gate, 0 for no
    gate. With `seen`, a file for when the row of each run was there, it works until it is told to stop by a line.
    `tick_s` 0: the log brings its own ticks.
    """

    address: str
    server: str = ""
    group: str = "tenure"
    until: dict[str, int] = field(default_factory=dict)
    partitions: int = 0
    seen: str = ""
    tick_s: int = 0


class Rows:
    """When rows and checkpoints were there: a store's insert returns once every reader finds them."""

    def __init__(self, store: Any) -> None:  # noqa: ANN401
        self._write, self._save = store.write, store.save_checkpoint
        self.written_s = self.saved_s = 0.0
        self.count = 0
        self.runs: dict[str, float] = {}
        store.write, store.save_checkpoint = self.write, self.save

    def write(self, generation: str, rows: Mapping[type[Row], Sequence[Row]]) -> None:
        self._write(generation, rows)
        self.written_s, now = perf_counter(), time()
        self.count += sum(map(len, rows.values()))
        for run in rows.get(Run, ()):
            assert isinstance(run, Run)
            self.runs.setdefault(run.job, now)

    def save(self, generation: str, checkpoint: Checkpoint) -> None:
        self._save(generation, checkpoint)
        self.saved_s = perf_counter()


async def work(task: Task, worker: Worker, rows: Rows) -> None:
    """Run it until it has taken all, stop it, which checkpoints, and tell."""
    watch, gate = Watch(), asyncio.Event()
    deliver = worker.deliver

    async def delivering(events: list[Any]) -> None:
        await gate.wait()
        watch.begin()
        await deliver(events)

    worker.deliver = delivering  # type: ignore[method-assign]
    running = asyncio.create_task(worker.run())
    waits = [asyncio.create_task(part) for part in (_settled(task, worker, gate), _ended(task, worker, gate))]
    await asyncio.wait([running, waits[-1]], return_when=asyncio.FIRST_COMPLETED)
    events, begun_s = taken(worker), watch.begun_s
    if not running.done():
        await worker.stop()
    await running
    watch.tell(events, wall_s=rows.saved_s - begun_s, rows=rows.count, to_rows_s=rows.written_s - begun_s)


async def _settled(task: Task, worker: Worker, gate: asyncio.Event) -> None:
    """Open the gate: at once, or when the group has given this worker what it is to have and the line has come."""
    if task.partitions:
        await when(lambda: len([name for name in owned(worker) if name in task.until]) == task.partitions)
        await told(owns=owned(worker))
    gate.set()


async def _ended(task: Task, worker: Worker, gate: asyncio.Event) -> None:
    """Everything is taken, and the line has come where there is one to wait for."""
    await gate.wait()
    await when(lambda: caught_up(worker, task.until))
    if task.seen:
        await told(taken=taken(worker))


async def when(true: Callable[[], bool]) -> None:
    """Look again and again: there is nothing in a worker that could wake us."""
    while not true():  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)


async def told(**what: object) -> None:
    """Say something, and wait for the line that answers."""
    print(json.dumps(what), flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def owned(worker: Worker) -> list[str]:
    return [lane.partition for lane in worker.health().lanes]


def caught_up(worker: Worker, until: Mapping[str, int]) -> bool:
    """Whether all it owns is taken and written, and it owns something."""
    lanes = [lane for lane in worker.health().lanes if lane.partition in until]
    return bool(lanes) and all(lane.next_offset >= until[lane.partition] for lane in lanes)


def taken(worker: Worker) -> int:
    """Events in the books of the partitions it owns."""
    owners = [lane.owner for lane in worker._lanes.values() if isinstance(lane.owner, Owner)]  # noqa: SLF001
    return sum(ledger.events for owner in owners for ledger in owner.processor.ledgers.values())


def main(task: Task) -> None:
    """The parts as `tenure worker` puts them together, its default settings but for ticks."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        store = stack.enter_context(wiring.open_store(wiring.Place(folder, task.server or None)))
        publisher = stack.enter_context(wiring.open_publisher(task.address))
        machine = stack.enter_context(wiring.machine(600.0))
        with wiring.open_admin(task.address) as admin:
            store.settle_log(admin.home())
        rows = Rows(store)
        telling = letters.telling(store, lambda found: letters.tell(publisher, found))

        async def live() -> None:
            role = Folding(telling, publisher, machine, task.tick_s)
            await work(task, Worker(role, Settings(task.address, name=task.group), machine), rows)

        asyncio.run(live())
        if task.seen:
            Path(task.seen).write_text(json.dumps(rows.runs))


if __name__ == "__main__":
    main(Task(**json.loads(sys.argv[1])))
    os._exit(0)  # chDB's threads and Kafka's take their time to end
