"""The topics on a broker: what is there, and making what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from streams.kafka.errors import translated
from streams.topics import TOPICS, Found, Topic


class Admin:
    """Asks and changes the broker at an address; every method may raise a StreamError."""

    def __init__(self, client: KafkaAdminClient, address: str) -> None:
        """Over an open client, see `admin`."""
        self._client = client
        self._address = address

    def cluster_id(self) -> str:
        """The Kafka cluster's own name, which tells it from one that was made anew at the same address."""
        with translated(self._address):
            return str(self._client.describe_cluster()["cluster_id"])

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
            self._client.create_topics(wanted)

    def _settings(self, names: list[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        described = self._client.describe_configs(resources, config_filter="all")["topic"]
        return {name: {key: str(it["value"]) for key, it in found.items()} for name, found in described.items()}


@contextmanager
def admin(address: str) -> Iterator[Admin]:
    """The admin of the broker at `address`, closed afterwards; StreamError where it does not answer."""
    with translated(address):
        client = KafkaAdminClient(bootstrap_servers=address, client_id="tenure")
    try:
        yield Admin(client, address)
    finally:
        client.close()
