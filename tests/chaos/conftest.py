"""A broker and a server for tests that break them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.kafka.node import Missing, fetch
from tests.support.clickhouse import ClickHouseServer
from tests.support.kafka import Broker
from tests.support.trial import Trial, trial
from tests.support.worker import make_topics


@pytest.fixture(scope="session")
def server() -> Iterator[ClickHouseServer]:
    """A ClickHouse server that is this process's alone."""
    with ClickHouseServer() as server:
        yield server


@pytest.fixture
def tried(tmp_path: Path, server: ClickHouseServer) -> Iterator[Trial]:
    """A trial with a broker of its own and Tenure's topics in it."""
    try:
        fetch()
    except Missing as missing:
        pytest.skip(str(missing))
    with Broker(tmp_path / "kafka").running() as broker:
        make_topics(broker.address, partitions=3)
        with trial(broker, server) as made:
            yield made
