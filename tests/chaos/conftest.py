"""A broker and a server for tests that break them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clickhouse import ClickHouseServer
from tests.support.trial import Trial, trial
from tests.support.worker import own_broker


@pytest.fixture(scope="session")
def server() -> Iterator[ClickHouseServer]:
    """A ClickHouse server that is this process's alone."""
    with ClickHouseServer() as server:
        yield server


@pytest.fixture
def tried(tmp_path: Path, server: ClickHouseServer) -> Iterator[Trial]:
    """A trial with a broker of its own and Tenure's topics in it."""
    with own_broker(tmp_path / "kafka", partitions=3) as broker, trial(broker, server) as made:
        yield made
