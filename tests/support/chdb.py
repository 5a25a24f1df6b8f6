"""Stores on chDB for tests.

chDB allows one data folder per process, and one process per folder. So each test process (each xdist worker) has one
folder, made when first asked for and removed at exit, and tests keep apart inside it:

- `fresh_store()` gives a store in a database of its own, migrated and empty (about 0.3 s): for tests that count rows,
  read the log or look at views;
- `shared_store()` gives one migrated store per process: for tests that name their own generations and clusters;
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

_numbers = count(1)


@cache
def folder() -> str:
    """This process's data folder."""
    path = tempfile.mkdtemp(prefix="tenure-chdb-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@contextmanager
def fresh_store() -> Iterator[ClickHouse]:
    """A migrated, empty store in a database of its own, dropped afterwards."""
    store = open_chdb(folder(), database=f"test_{next(_numbers)}")
    try:
        store.migrate()
        yield store
    finally:
        store.destroy()
        store.close()


@cache
def shared_store() -> ClickHouse:
    """The process's common store; choose generation and cluster names that are yours alone."""
    store = open_chdb(folder(), database="shared")
    store.migrate()
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
