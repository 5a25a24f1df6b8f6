"""Every test here runs on every implementation of the store."""

from collections.abc import Iterator

import pytest

from ledger.store.clickhouse import ClickHouse
from ledger.store.protocol import Store
from tests.support import chdb, clickhouse
from tests.support.stores import Stores


@pytest.fixture(scope="module", params=["chdb", "server", pytest.param("image", marks=pytest.mark.docker)])
def stores(request: pytest.FixtureRequest) -> Stores:
    """The stores of one implementation: in this process, over HTTP to our endpoint, over HTTP to the real image."""
    if request.param == "image":
        from tests.support import containers

        return containers.STORES
    return {"chdb": chdb.STORES, "server": clickhouse.STORES}[request.param]


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
