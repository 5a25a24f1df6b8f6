"""Three real replicas of one book, as deploy/clickhouse/config.d has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from ledger.store.clickhouse import ClickHouse, open_server
from ledger.store.errors import StoreUnreachable
from tests.contract.store.rows import checkpoint, event, posting, tables_of
from tests.support.chdb import ROOT

CONFIG = ROOT / "deploy" / "clickhouse" / "config.d" / "replicas.xml"

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Replicas"]:
    with Replicas(tmp_path_factory.mktemp("replicas")) as replicas:
        yield replicas


class Replicas:
    """Three containers in a network of their own."""

    def __init__(self, folder: Path) -> None:
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.network import Network
        from testcontainers.core.wait_strategies import HttpWaitStrategy

        from tests.support.containers import PASSWORD, service

        self._password = PASSWORD
        self._network = Network()
        (folder / "replicas.xml").write_text(CONFIG.read_text())
        self.servers = [
            DockerContainer(service("clickhouse")["image"], hostname=f"clickhouse-{number}")
            .with_envs(CLICKHOUSE_USER="tests", CLICKHOUSE_PASSWORD=PASSWORD, TENURE_REPLICA=str(number))
            .with_volume_mapping(str(folder / "replicas.xml"), "/etc/clickhouse-server/config.d/replicas.xml")
            .with_network(self._network)
            .with_network_aliases(f"clickhouse-{number}")
            .with_exposed_ports(8123)
            .waiting_for(HttpWaitStrategy(8123, "/ping").with_startup_timeout(180))
            for number in (1, 2, 3)
        ]

    def __enter__(self) -> Self:
        self._network.create()
        for server in self.servers:
            server.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.stop()
        self._network.remove()

    def store(self, number: int) -> ClickHouse:
        server = self.servers[number - 1]
        host, port = server.get_container_host_ip(), server.get_exposed_port(8123)
        return open_server(host, port=port, user="tests", password=self._password, cluster="tenure")


def test_what_one_replica_took_the_next_one_shows(replicas: Replicas):
    first, second = replicas.store(1), replicas.store(2)
    first.migrate()
    second.migrate()
    for number in range(50):
        writer, reader = (first, second) if number % 2 else (second, first)
        writer.append([event(number)])
        assert reader.last_offset("tenure.events", 0) == number
        writer.write("g1", tables_of(posting(number + 1)))
        writer.save_checkpoint("g1", checkpoint(seq=number + 1, events=number + 1))
        ((found,),) = [checkpoints.values() for checkpoints in reader.checkpoints("g1").values()]
        assert found.seq == number + 1
    first.set_live_generation("g2")
    assert second.live_generation() == "g2"
    second.drop_generation("g1")
    assert first.checkpoints("g1") == {}
    for store in (first, second):
        store.close()


def test_one_may_be_away_and_two_may_not(replicas: Replicas):
    store = replicas.store(1)
    store.migrate()
    replicas.servers[2].get_wrapped_container().pause()
    store.append([event(1_000)])
    replicas.servers[1].get_wrapped_container().pause()
    try:
        with pytest.raises(StoreUnreachable, match=r"cannot do it now|does not answer"):
            store.append([event(1_001)])
    finally:
        for server in replicas.servers[1:]:
            server.get_wrapped_container().unpause()
    store.append([event(1_001)])
    assert store.last_offset("tenure.events", 0) == 1_001
    store.close()
