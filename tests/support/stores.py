"""Stores of one implementation for tests, each in a database of its own.

- `fresh()` gives a migrated, empty store in a database nobody else uses meanwhile: for tests that count rows, read the
  log or look at views. Databases are emptied and used again, so it takes a few milliseconds;
- `shared()` gives one migrated store per process: for tests that name their own generations and clusters;
- `bare()` gives a database of its own without any table, dropped afterwards: for tests of migrations.
"""

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count

from ledger.store.clickhouse import ClickHouse

FULL_TABLES = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND total_rows > (name = 'generations') AND name != 'schema_migrations'
"""


class Stores:
    """Stores that `open_` opens, given the name of a database."""

    def __init__(self, open_: Callable[[str], ClickHouse]) -> None:
        self._open = open_
        self._numbers = count(1)
        self._empty: list[ClickHouse] = []

    @contextmanager
    def fresh(self) -> Iterator[ClickHouse]:
        """A migrated, empty store; anything written to it is gone afterwards."""
        store = self._empty.pop() if self._empty else self._opened()
        store.migrate()
        yield store
        for (table,) in store.query(FULL_TABLES).rows:
            store._command(f"TRUNCATE TABLE {table}")
        self._empty.append(store)

    @contextmanager
    def bare(self) -> Iterator[ClickHouse]:
        """A store whose database has no table yet."""
        store = self._opened()
        yield store
        store._command(f"DROP DATABASE {store.database} SYNC")

    def shared(self) -> ClickHouse:
        """The process's common store; choose generation and cluster names that are yours alone."""
        return self._shared

    @cached_property
    def _shared(self) -> ClickHouse:
        store = self._opened()
        store.migrate()
        return store

    def _opened(self) -> ClickHouse:
        store = self._open(f"test_{next(self._numbers)}")
        atexit.register(store.close)
        return store
