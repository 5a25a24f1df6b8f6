"""A store for hand-made books."""

from collections.abc import Iterator

import pytest

from ledger.store.protocol import Store
from tests.support.chdb import fresh_store
from tests.unit.tenure.report.small_book import closed


@pytest.fixture
def store() -> Iterator[Store]:
    """A migrated, empty store."""
    with fresh_store() as store:
        yield store


@pytest.fixture(scope="package")
def book_as_closed() -> Iterator[Store]:
    """The small book as its hours were closed; to be read only."""
    with fresh_store() as store:
        closed(store)
        yield store
