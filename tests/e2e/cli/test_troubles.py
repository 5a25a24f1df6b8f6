"""A folder somebody else has, a full disk, a user's mistakes: sentences and exit codes, no tracebacks."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure.demo import generate
from tests.e2e.cli.driver import ROOT, environment, many, one

pytestmark = pytest.mark.timeout(300)  # the first test of a process waits for the demo, on busy cores

HOLD = """
import sys
from pathlib import Path
from tenure import wiring
with wiring.open_store(wiring.Place(Path(sys.argv[1]))):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_told_who_has_the_folder(tmp_path: Path):
    folder = tmp_path / "book"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"open\n"
        answer = one(folder, "accounts")
    finally:
        holder.stdin.close()
        holder.wait(timeout=30)
        holder.stdout.close()
    assert answer.code == 4
    assert "is open in another process" in answer.err
    assert str(holder.pid) in answer.err
    assert "Traceback" not in answer.err


def test_mistakes_are_named_with_what_to_write(copy: Path, tmp_path: Path):
    config = tmp_path / "tenure.toml"
    config.write_text('data = "/srv"\ncolour = "red"\n')
    asked = {
        ("accounts", "--cluster", "nowhere"): (3, "only aurora"),
        ("accounts", "aurora-lab/nobody"): (3, "no account aurora-lab/nobody"),
        ("explain", "999999"): (3, "no such job"),
        ("jobs", "--state", "sleeping"): (2, "pending, held, running, ended"),
        ("jobs", "--since", "yesterday"): (2, "2026-09-01"),
        ("accounts", "--config", str(config)): (2, "colour: there is no such key"),
        ("accounts", "--config", str(tmp_path / "absent.toml")): (2, "cannot be read"),
        ("shares", "set", "aurora-lab"): (2, "CHILD=PERCENT"),
        ("shares", "set", "aurora-lab", "science", "--yes"): (2, "is no share"),
        ("shares", "decide", "R-0", "approve"): (3, "no request"),
        ("grants", "make", "aurora-lab", "many", "--until", "7d", "--pool", "H100", "--yes"): (2, "GPU-hours"),
        ("sql",): (2, "no query"),
        ("replay", "g1"): (2, "the views show"),
        ("nonsense",): (2, "No such command"),
    }
    for answer, (arguments, (code, words)) in zip(many(copy, [list(a) for a in asked]), asked.items(), strict=True):
        assert answer.code == code, (arguments, answer.err)
        assert words in answer.err, arguments
        assert "Traceback" not in answer.err, arguments


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    events = tmp_path / "events.jsonl"
    events.write_bytes(generate(7, 1).events[0] + b"\n")
    answer = one(tmp_path / "file" / "book", "ingest", str(events))
    assert answer.code == 6
    assert "cannot be made" in answer.err


def test_a_reader_that_goes_away_is_no_error(copy: Path):
    piped = subprocess.run(
        f"{sys.executable} -m tenure jobs --limit 2000 --json | head -1",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(copy),
        timeout=60,
        check=False,
    )
    assert piped.stdout == "{\n"
    assert "Traceback" not in piped.stderr


# ---------------------------------------------------------------- a full disk

SMALL_KB = 1_500


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None] | None]:
    """A place with little room: a tmpfs if we may mount one, else a limit on files, set by what is yielded."""
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL_KB}k", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
    )
    try:
        yield None if mounted else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300 << 10, 300 << 10))
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def more_room(folder: Path) -> None:
    if os.path.ismount(folder):
        subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_taken_and_a_rerun_completes(tmp_path: Path):
    events = generate(7, 1).events
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n".join(events) + b"\n")
    half = tmp_path / "half.jsonl"
    half.write_bytes(b"\n".join(events[: len(events) // 8]) + b"\n")
    disk = tmp_path / "disk"
    with small_disk(disk) as limit:
        book = disk / "book"
        taken = one(book, "ingest", str(half), "--json")
        kept = 0 if taken.code else taken_records(book)
        full = one(book, "ingest", str(file), before=limit)
        assert full.code == 5, full.err
        assert "Traceback" not in full.err
        if limit is None:
            assert "free some" in full.err
        more_room(disk)
        again, verified, log = many(
            book, [["ingest", str(file), "--json"], ["verify", "--json"], ["sql", "--json", "SELECT 1"]]
        )
        assert taken_records(book) >= kept + len(events)
        assert again.json["book"]["records"] == len(events)
        assert verified.json["clean"] is True
        assert log.code == 0


def taken_records(folder: Path) -> int:
    (told,) = many(folder, [["doctor", "--json"]])
    return int(next(check["value"]["records"] for check in told.json["checks"] if check["name"] == "log"))
