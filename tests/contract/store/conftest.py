"""Every test here runs on every implementation of the store."""

from collections.abc import Iterator

import pytest

from ledger.store.clickhouse import ClickHouse
from ledger.store.protocol import Store
from tests.support import chdb, clickhouse
from tests.support.stores import Stores

IMPLEMENTATIONS = {"chdb": chdb.STORES, "server": clickhouse.STORES}
"""In this process, and over HTTP. The container of a real server joins with a name and `marks=pytest.mark.docker`."""


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """The stores of one implementation."""
    return IMPLEMENTATIONS[request.param]


@pytest.fixture
def store(stores: Stores) -> Iterator[Store]:
    """A migrated, empty store."""
    with stores.fresh() as store:
        yield store


@pytest.fixture
def bare(stores: Stores) -> Iterator[ClickHouse]:
    """A store whose database has no table yet."""
    with stores.bare() as store:
        yield store
