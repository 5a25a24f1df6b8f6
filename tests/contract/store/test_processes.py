"""What holds between processes: restarts, locks, kills. chDB only: a server is its own process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.store.clickhouse import open_chdb, open_server
from ledger.store.errors import StoreBusy, StoreError, StoreUnreachable
from tests.support.chdb import ROOT, bare_store, folder, run_python

PRELUDE = """
import os, signal, sys
from ledger.rows import Posting
from ledger.store.clickhouse import open_chdb
from tests.contract.store.rows import checkpoint, event, posting, tables_of
store = open_chdb(sys.argv[1])
store.migrate()
"""

WRITES_AND_DIES = """
store.append([event(n, raw=b"\\xff" * n) for n in range(100)])
store.write("g1", tables_of(posting(1)))
store.save_checkpoint("g1", checkpoint(seq=1))
os.kill(os.getpid(), signal.SIGKILL)
"""

READS = """
events = store.read_events("tenure.events", 0, -1, 1000)
assert [e.raw for e in events] == [b"\\xff" * n for n in range(100)]
assert store.last_offset("tenure.events", 0) == 99
assert store.checkpoints("g1")["tenure.events", 0] == {"c": checkpoint(seq=1)}
assert store.query("SELECT count() FROM report_postings").rows == [(1,)]
store.close()
print("all there")
"""


def test_what_was_written_survives_a_kill_right_after_and_restarts(tmp_path: Path):
    killed = run_python(PRELUDE + WRITES_AND_DIES, str(tmp_path))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for _ in range(2):
        read = run_python(PRELUDE + READS, str(tmp_path))
        assert read.stdout == "all there\n", read.stderr


HOLDS = """
print("open", flush=True)
sys.stdin.read()
store.close()
"""

TRIES = """
import sys
from ledger.store.clickhouse import open_chdb
from ledger.store.errors import StoreBusy
try:
    open_chdb(sys.argv[1])
except StoreBusy as busy:
    print(busy)
"""


def test_a_second_process_is_told_that_the_folder_is_busy(tmp_path: Path):
    holder = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + HOLDS, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        told = run_python(TRIES, str(tmp_path))
        holder.communicate("")
    assert told.stdout.startswith(f"{tmp_path} is open in another process (PID: {holder.pid})"), told.stderr
    assert "stop that process" in told.stdout
    assert holder.returncode == 0
    assert run_python(PRELUDE, str(tmp_path)).returncode == 0


def test_one_process_has_one_folder(tmp_path: Path):
    with bare_store(), pytest.raises(StoreBusy, match=f"already has {folder()} open"):
        open_chdb(str(tmp_path))


def test_a_folder_that_cannot_be_one_is_named(tmp_path: Path):
    target = tmp_path / "file"
    target.touch()
    told = run_python(TRIES.replace("StoreBusy", "StoreError"), str(target))
    assert told.stdout == f"{target} cannot be opened as a data folder: File exists\n", told.stderr


def test_a_server_that_is_not_there_is_unreachable():
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:1 does not answer: Connection refused"):
        open_server("127.0.0.1", port=1)


def test_a_closed_store_says_so():
    with bare_store() as store:
        other = open_chdb(folder(), database=store.database)
        other.migrate()
        assert other.last_offset("t", 0) == -1
        other.close()
        for call in (lambda: other.last_offset("t", 0), other.migrate, lambda: other.query("SELECT 1")):
            with pytest.raises(StoreError, match="closed"):
                call()


ZONES = """
from datetime import UTC, datetime
from tests.contract.store.rows import HOUR_S
store.write("g1", tables_of(posting(1)))
(row,) = store.query("SELECT hour, toString(hour), toDateTime('2023-11-14 23:00:00', 'UTC') FROM postings").rows
print(row[0].isoformat(), row[1], row[2].isoformat())
"""


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC"])
def test_times_are_utc_whatever_the_zone_of_the_host(tmp_path: Path, zone: str):
    ran = subprocess.run(
        [sys.executable, "-c", PRELUDE + ZONES, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"TZ": zone},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    same = "2023-11-14T23:00:00+00:00"
    assert ran.stdout == f"{same} 2023-11-14 23:00:00 {same}\n", ran.stderr


THREADS = """
from concurrent.futures import ThreadPoolExecutor
def write(n):
    store.append([event(n * 100 + i) for i in range(100)])
    store.write("g1", tables_of(*(posting(n * 100 + i) for i in range(100))))
def read(n):
    return len(store.query("SELECT * FROM postings FINAL").rows)
with ThreadPoolExecutor(16) as pool:
    writes = [pool.submit(write, n) for n in range(20)]
    reads = [pool.submit(read, n) for n in range(100)]
    assert all(r.result() % 100 == 0 for r in reads)
    [w.result() for w in writes]
print(read(0), len(store.read_events("tenure.events", 0, -1, 10_000)))
store.close()
"""


def test_threads_may_share_a_store(tmp_path: Path):
    ran = run_python(PRELUDE + THREADS, str(tmp_path))
    assert ran.stdout == "2000 2000\n", ran.stderr
