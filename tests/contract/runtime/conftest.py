"""Every test here runs on every runtime."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pytest

from ledger.store.protocol import Store
from streams.runtime import embedded
from streams.runtime.embedded import Embedded, Summary
from tests.contract.runtime.feeds import clock
from tests.support.chdb import fresh_store


class Runtime(Protocol):
    """What a test asks of a runtime: take records, and stop as if it had been killed."""

    def ingest(self, raws: Iterable[bytes]) -> Summary: ...


Start = Callable[..., Runtime]
"""Starts a runtime on a store, `batch` records at a time. What ran on the store before is gone without a goodbye."""

# Kafka joins as pytest.param("kafka", marks=pytest.mark.docker) and one more branch below.
RUNTIMES = ["embedded"]


@pytest.fixture
def store() -> Iterator[Store]:
    """A migrated, empty store."""
    with fresh_store() as store:
        yield store


@pytest.fixture(params=RUNTIMES)
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Start:
    """How a runtime is started."""
    assert request.param == "embedded"

    def started(store: Store, *, batch: int = 100) -> Runtime:
        monkeypatch.setattr(embedded, "BATCH", batch)
        return Embedded(store, clock)

    return started
