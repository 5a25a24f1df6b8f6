"""Every test here runs on every implementation of the store."""

from collections.abc import Iterator

import pytest

from ledger.store.protocol import Store
from tests.support.chdb import fresh_store

# A ClickHouse server joins as pytest.param("server", marks=pytest.mark.docker) and one more branch below.
IMPLEMENTATIONS = ["chdb"]


@pytest.fixture(params=IMPLEMENTATIONS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A migrated, empty store."""
    assert request.param == "chdb"
    with fresh_store() as store:
        yield store
