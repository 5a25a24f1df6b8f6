"""A full disk stops the writer with a sentence; nothing that was acknowledged is lost, and with room it goes on."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.chdb import run_python

WRITES = """
import resource, sys
from ledger.store.clickhouse import open_chdb
from ledger.store.errors import StoreError
from streams.runtime import embedded
from streams.runtime.embedded import LOG, Embedded
from streams.verify import verify
from tests.contract.runtime.feeds import clock, seeded

folder, largest_file = sys.argv[1], int(sys.argv[2])
embedded.BATCH, embedded.CHECKPOINT_S = 50, 0
lines = seeded(5, jobs=20)
done = written = 0

def acknowledged(records):
    global written
    written += records
    if largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

try:
    store = open_chdb(folder)
    store.migrate()
    done = store.last_offset(*LOG) + 1
    runtime = Embedded(store, clock)
    runtime.ingest(lines[done:], acknowledged)
    runtime.close()
    store = open_chdb(folder)
    assert [e.raw for e in store.read_events(*LOG, -1, 100_000)] == lines
    assert verify(store).errors == []
    print("whole", done)
except StoreError as error:
    print(type(error).__name__, done + written, error)
"""


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A file system of that size on the folder; False where nobody may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False
    )
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_writer_whose_disk_is_full_stops_and_with_room_goes_on(tmp_path: Path):
    """Where no file system can be mounted, a limit on the size of files stands in, under another sentence."""
    with small_disk(tmp_path, "6m") as mounted:
        book = str(tmp_path / "book")
        stopped = run_python(WRITES, book, "0" if mounted else "2000")
        name, acknowledged, sentence = stopped.stdout.split(" ", 2)
        assert int(acknowledged) >= 50, stopped.stderr
        assert name == "StoreFull"
        if mounted:
            assert sentence == f"no space left for {book}: free some, then start again; nothing written was lost\n"
            again = run_python(WRITES, book, "0")
            assert again.stdout.startswith("StoreFull"), "a disk that is full stays full"
            subprocess.run(["mount", "-o", "remount,size=400m", str(tmp_path)], check=True)
        resumed = run_python(WRITES, book, "0")
        assert resumed.stdout.startswith("whole "), (resumed.stdout, resumed.stderr)
        assert int(resumed.stdout.split()[1]) >= int(acknowledged)
