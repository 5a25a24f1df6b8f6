"""Stores on chDB for tests.

chDB allows one data folder per process, and one process per folder. So each test process (each xdist worker)
has one folder, made when first asked for and removed at exit, and tests keep apart inside it by database:
`fresh_store`, `shared_store` and `bare_store` are those of tests.support.stores. A test of restarts, locks or crashes
runs its part in a subprocess on a folder of its own: `run_python`.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from ledger.store.clickhouse import open_chdb
from tests.support.stores import Stores

ROOT = Path(__file__).resolve().parents[2]


@cache
def folder() -> str:
    """This process's data folder."""
    path = tempfile.mkdtemp(prefix="tenure-chdb-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


STORES = Stores(lambda database: open_chdb(folder(), database=database))
fresh_store = STORES.fresh
bare_store = STORES.bare
shared_store = STORES.shared


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
