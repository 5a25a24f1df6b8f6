"""A real Kafka broker for tests, without Docker.

    def test_something(kafka: Broker) -> None:
        topic = kafka.topic(partitions=3)           # nobody else's
        kafka.kill(); kafka.start()                 # the same address, the same records

There is one broker per process that runs tests, started when a test first asks for it. A test that wants one for itself
says `with Broker(tmp_path).running() as broker`. Where Java or Maven is missing the fixture skips and says what to
install; in CI a skip is a failure. No broker outlives the process that started it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from deploy.kafka.node import Node, fetch
from deploy.processes import Missing

_numbers = count(1)


class Kafka(Protocol):
    """What tests ask of a broker, whatever runs it."""

    @property
    def address(self) -> str: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class Broker:
    """A node of deploy/kafka in a folder; starting it again finds the records, and the address stays the same."""

    def __init__(self, data: Path) -> None:
        self.node = Node(data)

    @property
    def address(self) -> str:
        """For `bootstrap.servers`."""
        return self.node.address

    def start(self) -> None:
        """Start and wait until clients are served; nothing happens if it runs."""
        self.node.up(with_parent=True)

    def stop(self) -> None:
        """Stop as an administrator does."""
        self.node.down()

    def kill(self) -> None:
        """Stop as a power cut does: SIGKILL."""
        self.node.kill()

    def restart(self) -> None:
        """`kill -9` and back, at the same address."""
        self.kill()
        self.start()

    def topic(self, partitions: int = 1, **config: str) -> str:
        """A new topic that is this test's alone; dots in the names of settings are written as `_`."""
        return make_topic(self.address, partitions, {name.replace("_", "."): value for name, value in config.items()})

    @contextmanager
    def running(self) -> Iterator[Broker]:
        """The broker, started; afterwards it is gone, and so are its records."""
        try:
            self.start()
            yield self
        finally:
            self.kill()
            shutil.rmtree(self.node.data / "log", ignore_errors=True)


def make_topic(address: str, partitions: int = 1, config: dict[str, str] | None = None) -> str:
    """Make a topic with a name of its own, and return the name."""
    from kafka.admin import KafkaAdminClient, NewTopic

    name = f"test-{next(_numbers)}"
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs=config or {})])
    finally:
        admin.close()
    return name


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """This process's broker. A test that stops it starts it again."""
    try:
        fetch()
    except Missing as missing:
        pytest.skip(str(missing))
    with Broker(tmp_path_factory.mktemp("kafka")).running() as broker:
        yield broker
