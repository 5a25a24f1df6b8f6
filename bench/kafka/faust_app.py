"""Plain Faust apps: one with a table that folds event by event, and two that do nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from tempfile import TemporaryDirectory
from typing import Any

import faust

from bench.kafka.fold import Fold
from bench.kafka.watch import Watch
from streams.topics import EVENTS

TAKE = 500


def app_of(address: str, group: str, folder: str) -> faust.App:
    """As Faust's own guide makes one; its changelogs, where there is a table, go to the same broker."""
    return faust.App(
        group,
        broker=f"kafka://{address}",
        datadir=folder,
        store="memory://",
        topic_partitions=1,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
    )


def table(app: faust.App, records: faust.TopicT, watch: Watch, done: asyncio.Event, events: int) -> None:
    """Fold each event and keep its job's record in a table, whose changelog makes it durable."""
    jobs: Any = app.Table("jobs", partitions=1)
    fold = Fold()

    @app.agent(records)
    async def folding(stream: faust.StreamT[bytes]) -> None:
        async for value in stream:
            watch.begin()
            for about, said in fold.record(value):
                jobs[about] = said
            if fold.events >= events and not done.is_set():
                fold.take()
                await app.producer.flush()
                watch.tell(fold.events, rows=fold.rows)
                done.set()


def nothing(app: faust.App, records: faust.TopicT, watch: Watch, done: asyncio.Event, events: int) -> None:
    """An agent that only counts: what Faust itself costs."""
    seen = 0

    @app.agent(records)
    async def counting(stream: faust.StreamT[bytes]) -> None:
        nonlocal seen
        async for _ in stream:
            watch.begin()
            seen += 1
            if seen == events:
                watch.tell(seen)
                done.set()


def taking(app: faust.App, records: faust.TopicT, watch: Watch, done: asyncio.Event, events: int) -> None:
    """As our worker's agent takes them, acknowledged at once."""
    seen = 0

    @app.agent(records)
    async def counting(stream: Any) -> None:  # noqa: ANN401
        nonlocal seen
        async for taken in stream.noack_take(TAKE, within=0.1):
            watch.begin()
            seen += len(taken)
            for event in taken:
                event.ack()
            if seen >= events and not done.is_set():
                watch.tell(seen)
                done.set()


async def run(what: str, address: str, events: int, group: str) -> None:
    """Until all are seen."""
    done = asyncio.Event()
    with TemporaryDirectory() as folder:
        app = app_of(address, group, folder)
        records = app.topic(EVENTS.name, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
        {"table": table, "nothing": nothing, "taking": taking}[what](app, records, Watch(), done, events)
        await app.start()
        await done.wait()
    os._exit(0)  # leaving the group takes Faust seconds, and there is nobody to be polite to


asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
