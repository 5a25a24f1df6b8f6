"""What the streams rely on: a broker keeps what it acknowledged, and every client reads every compression."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from aiokafka import AIOKafkaConsumer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError

from tests.support.kafka import Kafka, make_topic


def produce(broker: Kafka, topic: str, values: range, compression: str | None = "gzip") -> list[int]:
    """Write as the streams do, and return the offsets that were acknowledged."""
    with closing(
        KafkaProducer(
            bootstrap_servers=broker.address,
            acks="all",
            enable_idempotence=True,
            compression_type=compression,
            linger_ms=5,
        )
    ) as producer:
        sent = [producer.send(topic, b"%d" % value, key=b"alpha") for value in values]
        return [future.get(30).offset for future in sent]


def consume(broker: Kafka, topic: str, want: int, group: str | None = None) -> Iterator[bytes]:
    """`want` values from where the group stands, or from the beginning; what was read is committed."""
    with closing(
        KafkaConsumer(
            topic,
            bootstrap_servers=broker.address,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=30_000,
        )
    ) as consumer:
        for _ in range(want):
            yield next(consumer).value
        if group:
            consumer.commit()


def committed(broker: Kafka, topic: str, group: str) -> int | None:
    with closing(KafkaConsumer(bootstrap_servers=broker.address, group_id=group)) as consumer:
        return consumer.committed(TopicPartition(topic, 0))  # type: ignore[no-any-return]


def test_records_come_back_in_order(broker: Kafka) -> None:
    topic = make_topic(broker.address)
    assert produce(broker, topic, range(200)) == list(range(200))
    assert list(consume(broker, topic, 200)) == [b"%d" % value for value in range(200)]


def test_records_offsets_and_address_outlive_kill_9(broker: Kafka) -> None:
    topic, address = make_topic(broker.address), broker.address
    produce(broker, topic, range(10))
    assert len(list(consume(broker, topic, 4, group="readers"))) == 4

    broker.kill()
    broker.start()

    assert broker.address == address
    assert committed(broker, topic, "readers") == 4
    assert produce(broker, topic, range(10, 20)) == list(range(10, 20))
    assert list(consume(broker, topic, 20)) == [b"%d" % value for value in range(20)]


def test_records_outlive_a_gentle_restart(broker: Kafka) -> None:
    topic = make_topic(broker.address)
    produce(broker, topic, range(3))
    broker.stop()
    broker.start()
    assert list(consume(broker, topic, 3)) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("compression", [None, "gzip", "lz4", "snappy", "zstd"])
def test_both_clients_read_what_a_producer_compressed(broker: Kafka, compression: str | None) -> None:
    topic = make_topic(broker.address)
    produce(broker, topic, range(50), compression)
    expected = [b"%d" % value for value in range(50)]
    assert list(consume(broker, topic, 50)) == expected
    assert asyncio.run(consume_as_faust_does(broker, topic, 50)) == expected


async def consume_as_faust_does(broker: Kafka, topic: str, want: int) -> list[bytes]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker.address, auto_offset_reset="earliest")
    await consumer.start()
    try:
        return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in range(want)]
    finally:
        await consumer.stop()


def test_a_topic_is_not_made_by_a_name_mistyped(broker: Kafka) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.address, max_block_ms=500)
    with closing(producer), pytest.raises(KafkaTimeoutError):
        producer.send("tenure.evnets", b"x")
    with closing(KafkaAdminClient(bootstrap_servers=broker.address)) as admin:
        assert "tenure.evnets" not in admin.list_topics()
