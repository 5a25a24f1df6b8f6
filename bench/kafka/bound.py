"""The bound: records fetched by aiokafka and their events decoded by pydantic, nothing else."""

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.kafka.watch import Watch
from ledger.events import EVENT
from streams.batches import split
from streams.runtime.collector import calm
from streams.topics import EVENTS


async def fetch(address: str, events: int) -> None:
    """One by one: a whole array in one call of pydantic is slower, since all its events live at once."""
    watch, seen, decode = Watch(), 0, EVENT.validate_json
    consumer = AIOKafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    await consumer.start()
    try:
        partition = TopicPartition(EVENTS.name, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        while seen < events:
            for records in (await consumer.getmany(timeout_ms=1_000)).values():
                watch.begin()
                for record in records:
                    for raw in split(record.value):
                        decode(raw)
                        seen += 1
        watch.tell(seen)
    finally:
        await consumer.stop()


calm()
asyncio.run(fetch(sys.argv[1], int(sys.argv[2])))
