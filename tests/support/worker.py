"""Workers for tests: one in this process that runs until it has caught up, and ones in processes of their own."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from deploy.kafka.node import fetch
from deploy.processes import Missing
from ledger.checkpoint import Partition
from ledger.store.protocol import Store
from streams.kafka.admin import admin
from streams.kafka.producer import Publisher, publisher
from streams.runtime.folding import Folding
from streams.runtime.patience import Patience
from streams.runtime.worker import Machine, Settings, Worker
from streams.topics import LOGS, SAMPLES, TOPICS
from tests.support.kafka import Broker

ENOUGH_S = 60.0


def machine(patience_s: float = 30.0) -> Machine:
    """This machine."""
    patience = Patience(patience_s, time.sleep, time.monotonic)
    folder = Path(tempfile.gettempdir()) / "tenure-tests-faust"  # one for all: a killed worker would leave its own
    folder.mkdir(exist_ok=True)
    return Machine(lambda: datetime.now(UTC), time.monotonic, folder, patience)


@contextmanager
def own_broker(folder: Path, *, partitions: int | None = None) -> Iterator[Broker]:
    """A broker that is this test's alone, with Tenure's topics; skips where there is no Java or Maven."""
    try:
        fetch()
    except Missing as missing:
        pytest.skip(str(missing))
    with Broker(folder).running() as broker:
        make_topics(broker.address, partitions=partitions)
        yield broker


def make_topics(address: str, *, partitions: int | None = None) -> None:
    """All topics, in a broker that has none."""
    topics = [t if partitions is None or t.partitions == 1 else replace(t, partitions=partitions) for t in TOPICS]
    with admin(address) as asked:
        asked.create(topics, 1)


def ends(address: str) -> dict[Partition, int]:
    """Where the logs and the samples end, for partitions that are not empty."""
    consumer: Any = KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    try:
        places = [
            TopicPartition(topic.name, number)
            for topic in (*LOGS, SAMPLES)
            for number in consumer.partitions_for_topic(topic.name) or ()
        ]
        found = consumer.end_offsets(places)
    finally:
        consumer.close()
    return {Partition(place.topic, place.partition): end for place, end in found.items() if end}


def settings(address: str, **chosen: Any) -> Settings:
    """Quick in everything."""
    quick = {"take_within_s": 0.05, "save_every_s": 0.5, "session_s": 6.0, "rebalance_s": 8.0, "join_s": 20.0}
    return Settings(address, **{**quick, **chosen})


def folding(store: Store, sender: Publisher, address: str, **chosen: Any) -> Worker:
    """A worker as `tenure worker` makes one, without ticks."""
    here = machine()
    return Worker(Folding(store, sender, here, tick_s=0), settings(address, **chosen), here)


def drain(store: Store, address: str, **chosen: Any) -> None:
    """Run one worker until everything that is in the broker now is taken and checkpointed."""
    wanted = ends(address)

    async def live() -> None:
        with publisher(address) as sender:
            worker = folding(store, sender, address, **chosen)
            running = asyncio.create_task(worker.run())
            until_s = time.monotonic() + ENOUGH_S
            while not running.done() and not caught_up(worker, wanted):
                assert time.monotonic() < until_s, f"not caught up: {worker.health()}, wanted {wanted}"
                await asyncio.sleep(0.05)
            if not running.done():
                await worker.stop()
            await running

    asyncio.run(live())


def caught_up(worker: Worker, wanted: Mapping[Partition, int]) -> bool:
    """Whether the worker has taken and saved all of it."""
    lanes = {lane.partition: lane for lane in worker.health().lanes}
    return all(
        (lane := lanes.get(str(partition))) is not None and lane.next_offset >= end and not lane.unsaved
        for partition, end in wanted.items()
    )
