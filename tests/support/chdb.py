"""Stores on chDB for tests.

chDB allows one data folder per process, and one process per folder. So each test process (each xdist worker)
has one folder, made when first asked for and removed at exit, and tests keep apart inside it:

- `fresh_store()` gives a migrated, empty store in a database nobody else uses meanwhile: for tests that count
  rows, read the log or look at views. Databases are emptied and used again, so it takes a few milliseconds;
- `shared_store()` gives one migrated store per process: for tests that name their own generations and clusters;
- `bare_store()` gives a database of its own without any table, dropped afterwards: for tests of migrations;
- a test of restarts, locks or crashes runs its part in a subprocess on a folder of its own: `run_python`.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from ledger.store.clickhouse import ClickHouse, open_chdb

ROOT = Path(__file__).resolve().parents[2]

FULL_TABLES = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND total_rows > (name = 'generations') AND name != 'schema_migrations'
"""

_numbers = count(1)
_empty: list[ClickHouse] = []


@cache
def folder() -> str:
    """This process's data folder."""
    path = tempfile.mkdtemp(prefix="tenure-chdb-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@contextmanager
def fresh_store() -> Iterator[ClickHouse]:
    """A migrated, empty store; anything written to it is gone afterwards."""
    store = _empty.pop() if _empty else _opened()
    store.migrate()
    yield store
    for (table,) in store.query(FULL_TABLES).rows:
        store._command(f"TRUNCATE TABLE {table}")
    _empty.append(store)


@contextmanager
def bare_store() -> Iterator[ClickHouse]:
    """A store whose database has no table yet."""
    store = _opened()
    yield store
    store._command(f"DROP DATABASE {store.database} SYNC")


@cache
def shared_store() -> ClickHouse:
    """The process's common store; choose generation and cluster names that are yours alone."""
    store = _opened()
    store.migrate()
    return store


def _opened() -> ClickHouse:
    store = open_chdb(folder(), database=f"test_{next(_numbers)}")
    atexit.register(store.close)
    return store


def run_python(code: str, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that can import the packages; `arguments` are its sys.argv[1:]."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
