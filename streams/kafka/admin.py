"""The topics on a broker: what is there, how far it is read, and making what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic, OffsetSpec

from ledger.checkpoint import Partition
from streams.kafka.errors import FIRST_ANSWER_MS, translated
from streams.kafka.fit import Span, home
from streams.topics import TOPICS, Found, Topic


class Cluster(NamedTuple):
    """Kafka itself. Its `id` tells it from one that was made anew at the same address."""

    id: str
    brokers: int


class Admin:
    """Asks and changes the broker at an address; every method may raise a StreamError."""

    def __init__(self, client: KafkaAdminClient, address: str) -> None:
        """Over an open client, see `admin`."""
        self._client = client
        self._address = address

    def cluster(self) -> Cluster:
        """Kafka's own name, and how many brokers there are."""
        with translated(self._address):
            described = self._client.describe_cluster()
        return Cluster(str(described["cluster_id"]), len(described["brokers"]))

    def home(self) -> str:
        """What a store fed from here remembers as the home of its log."""
        return home(self.cluster().id)

    def found(self) -> dict[str, Found]:
        """Tenure's topics that are there."""
        with translated(self._address):
            there = set(self._client.list_topics())
            names = [topic.name for topic in TOPICS if topic.name in there]
            if not names:
                return {}
            described = {topic["name"]: topic["partitions"] for topic in self._client.describe_topics(names)}
            settings = self._settings(names)
        return {
            name: Found(len(parts), min(len(part["replica_nodes"]) for part in parts), settings[name])
            for name, parts in described.items()
        }

    def create(self, topics: list[Topic], replication: int) -> None:
        """Make these topics."""
        wanted = [
            NewTopic(topic.name, topic.partitions, replication, topic_configs=topic.config(replication))
            for topic in topics
        ]
        with translated(self._address):
            self._client.create_topics(wanted, wait_for_metadata=True)

    def spans(self, found: Mapping[str, Found]) -> dict[Partition, Span]:
        """What each partition of these topics holds."""
        places = [TopicPartition(name, number) for name, topic in found.items() for number in range(topic.partitions)]
        if not places:
            return {}
        with translated(self._address):
            firsts = self._client.list_partition_offsets(dict.fromkeys(places, OffsetSpec.EARLIEST))
            ends = self._client.list_partition_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
        return {Partition(*at): Span(firsts[at].offset, ends[at].offset) for at in places}

    def committed(self, group: str) -> dict[Partition, int]:
        """The offset from which the group reads on, by partition; nothing of those it never committed."""
        with translated(self._address):
            offsets = self._client.list_group_offsets(group)[group]
        return {Partition(*at): told.offset for at, told in offsets.items() if told.offset >= 0}

    def members(self, group: str) -> int:
        """How many workers are in the group."""
        with translated(self._address):
            described = self._client.describe_groups([group])[group]
        return len(described["members"])

    def _settings(self, names: list[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        described = self._client.describe_configs(resources, config_filter="all")["topic"]
        return {name: {key: str(it["value"]) for key, it in found.items()} for name, found in described.items()}


@contextmanager
def admin(address: str) -> Iterator[Admin]:
    """The admin of the broker at `address`, closed afterwards; StreamError where it does not answer."""
    with translated(address):
        client = KafkaAdminClient(bootstrap_servers=address, client_id="tenure", bootstrap_timeout_ms=FIRST_ANSWER_MS)
    try:
        yield Admin(client, address)
    finally:
        client.close()
