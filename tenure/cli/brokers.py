"""Which Kafka a command speaks to, and whether it is the one that feeds the book."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ledger.store.protocol import Store
from streams.kafka import HOME
from tenure import wiring
from tenure.cli import exits
from tenure.config import Settings

HOW_TO_SAY: Final = f'write `address = "host:9092"` under [kafka] of tenure.toml, or set {wiring.KAFKA}'


def broker(settings: Settings) -> str:
    """Where Kafka is; stops where nothing says so."""
    address = wiring.brokers(settings)
    if address is None:
        raise exits.Stop(f"nothing says where Kafka is: {HOW_TO_SAY}")
    return address


def home_of(store: Store) -> str:
    """Where the log of the book is first written; '' where nothing was written yet."""
    return "".join(str(name) for (name,) in store.query("log_homes").rows)


def fed(store: Store) -> bool:
    """Whether workers feed the book from Kafka: then nobody else folds, and nobody else writes its log."""
    return home_of(store).startswith(HOME)


@contextmanager
def feeding(store: Store, settings: Settings) -> Iterator[str]:
    """The address of the Kafka that feeds the book; stops where it is another one."""
    address, home = broker(settings), home_of(store)
    with wiring.open_admin(address) as admin:
        there = admin.home()
    if there != home:
        raise exits.Stop(f"the log of this book is in {home}, and at {address} is {there}: {HOW_TO_SAY}")
    yield address
