"""The real images of docker-compose.yml, for tests marked `docker`: the versions that run there."""

from __future__ import annotations

import atexit
import time
from functools import cache
from typing import Any, Self

import yaml
from docker.models.containers import Container
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy, LogMessageWaitStrategy

from deploy.kafka.node import STARTED
from deploy.processes import free_ports
from ledger.store.clickhouse import ClickHouse, open_server
from tests.conftest import ROOT
from tests.support.stores import Stores

START_S = 120
PASSWORD = "for-tests-only"


def service(name: str) -> dict[str, Any]:
    """A service of docker-compose.yml, as written there."""
    compose: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = compose["services"][name]
    return found


class KafkaImage:
    """Apache Kafka's image; killed and started again, it has the same address and the same records."""

    def __init__(self) -> None:
        kafka = service("kafka")
        # A fixed port: Docker chooses another one at each start otherwise, and clients come back to the one they know.
        self._port = free_ports("kafka")["kafka"]
        self._image = (
            DockerContainer(kafka["image"], user=kafka["user"], hostname=kafka["hostname"])
            .with_envs(**{name: str(value) for name, value in kafka["environment"].items()})
            .with_bind_ports(9092, self._port)
            .waiting_for(LogMessageWaitStrategy(STARTED).with_startup_timeout(START_S))
        )
        self._image.with_env(
            "KAFKA_ADVERTISED_LISTENERS", f"PLAINTEXT://kafka:19092,PLAINTEXT_HOST://{self._host()}:{self._port}"
        )

    def __enter__(self) -> Self:
        self._image.__enter__()  # which removes the container should it not start
        return self

    def __exit__(self, *_: object) -> None:
        self._image.stop()

    @property
    def address(self) -> str:
        return f"{self._host()}:{self._port}"

    def start(self) -> None:
        """Start it again, and wait until it says once more that it serves."""
        before = self._said()
        self._container.start()
        deadline = time.monotonic() + START_S
        while self._said() == before:
            assert time.monotonic() < deadline, self._container.logs().decode()[-4000:]
            time.sleep(0.2)

    def stop(self) -> None:
        self._container.stop(timeout=30)

    def kill(self) -> None:
        self._container.kill()

    @property
    def _container(self) -> Container:
        return self._image.get_wrapped_container()

    def _host(self) -> str:
        return self._image.get_docker_client().host()

    def _said(self) -> int:
        logs: bytes = self._container.logs()
        return logs.decode().count(STARTED)


class ClickHouseImage:
    """ClickHouse's image, with a user who may make the databases that tests work in."""

    def __init__(self) -> None:
        self._image = (
            DockerContainer(service("clickhouse")["image"])
            .with_envs(CLICKHOUSE_USER="tests", CLICKHOUSE_PASSWORD=PASSWORD, CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT="1")
            .with_exposed_ports(8123)
            .waiting_for(HttpWaitStrategy(8123, "/ping").with_startup_timeout(START_S))
        )

    def start(self) -> Self:
        self._image.__enter__()  # which removes the container should it not start
        return self

    def stop(self) -> None:
        self._image.stop()

    def store(self, database: str) -> ClickHouse:
        """A store on it, its tables not yet made."""
        host, port = self._image.get_container_host_ip(), self._image.get_exposed_port(8123)
        return open_server(host, port=port, user="tests", password=PASSWORD, database=database)


@cache
def shared_image() -> ClickHouseImage:
    """This process's server."""
    image = ClickHouseImage().start()
    atexit.register(image.stop)
    return image


STORES = Stores(lambda database: shared_image().store(database))
