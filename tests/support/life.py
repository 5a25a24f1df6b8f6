"""A worker in a process of its own: `python -m tests.support.life KAFKA CLICKHOUSE_PORT DATABASE [NAMES [STEP]]`.

It prints `ready` once it has its partitions, works until SIGTERM, and leaves then. With NAMES (separated by `;`) or a
STEP it kills itself before that, with SIGKILL, right after the first step of such a name, or after so many steps. Steps
are what a crash can come between: `fetched`, `folded`, every kind of write, `acknowledged`, `committed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from faust.transport.consumer import Consumer

from ledger.store.clickhouse import open_server
from streams.kafka.producer import publisher
from streams.processor import Processor
from streams.runtime.lane import Lane
from streams.runtime.worker import Worker
from tests.contract.runtime.frail import Fault, Frail
from tests.support.worker import folding


def die(after: str) -> None:
    """The end of a process, as hard as it comes."""
    print(f"died after {after}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def watch(fault: Fault) -> None:
    """Have the steps that are no writes counted too."""
    fetched, folded, saved, committed = Worker.deliver, Processor.fold, Lane._save, Consumer.commit

    async def deliver(self: Worker, events: list[Any]) -> None:
        fault.wrote("fetched")
        await fetched(self, events)

    def fold(self: Processor, records: Any) -> Any:
        made = folded(self, records)
        fault.wrote("folded")
        return made

    async def save(self: Lane) -> None:
        await saved(self)
        fault.wrote("acknowledged")

    async def commit(self: Any, *arguments: Any, **named: Any) -> bool:
        done = await committed(self, *arguments, **named)
        if done:
            fault.wrote("committed")
        return bool(done)

    replace: Callable[..., None] = setattr
    replace(Worker, "deliver", deliver)
    replace(Processor, "fold", fold)
    replace(Lane, "_save", save)
    replace(Consumer, "commit", commit)


async def live(address: str, port: int, database: str, names: frozenset[str], step: int) -> None:
    """Work until told to stop."""
    fault = Fault(die, names, step)
    watch(fault)
    store = open_server("127.0.0.1", port=port, database=database)
    store.migrate()
    frail: Any = Frail(store, fault)
    with publisher(address) as sender:
        worker = folding(frail, sender, address, session_s=2.0)
        loop = asyncio.get_running_loop()
        stopping: list[asyncio.Task[None]] = []
        loop.add_signal_handler(signal.SIGTERM, lambda: stopping.append(loop.create_task(worker.stop())))
        running = asyncio.create_task(worker.run())
        while not running.done() and not worker.health().lanes:  # noqa: ASYNC110 -- a test looks on from outside
            await asyncio.sleep(0.05)
        print("ready", flush=True)
        await running
        await asyncio.gather(*stopping)
    store.close()
    print(f"left; steps: {';'.join(sorted(set(fault.done)))}", flush=True)


def main(arguments: list[str]) -> None:
    """From the command line."""
    logging.basicConfig(level=logging.ERROR, format="%(name)s: %(message)s")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    address, port, database, names, step = (*arguments, "", "")[:5]
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(live(address, int(port), database, frozenset(filter(None, names.split(";"))), int(step or -1)))


if __name__ == "__main__":
    main(sys.argv[1:])
