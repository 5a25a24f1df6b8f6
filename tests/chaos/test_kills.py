"""However often a writer is killed, and wherever: in the end the book is the one an undisturbed writer makes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.chdb import ROOT


def lives(folder: Path, *, seed: int, jobs: int, steps: int, kills: int, timeout_s: int) -> dict[str, Any]:
    """What became of a book whose writer was killed so many times."""
    arguments = [str(folder), *map(str, (seed, jobs, steps, kills))]
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.chaos.lives", *arguments],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not to be forked
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def judge(folder: Path, told: dict[str, Any], deaths: int) -> None:
    """Row by row, log, dead letters, hashes and places included; and `verify` believes both."""
    print(told)
    assert len(told["died"]) == deaths
    quiet, torn = (json.loads((folder / f"{name}.json").read_text()) for name in ("quiet", "torn"))
    assert quiet["errors"] == []
    assert torn["errors"] == []
    assert len(torn["contents"]["events"]) == told["records"]
    for table, rows in quiet["contents"].items():
        assert rows, f"nothing in {table} is compared"
        assert torn["contents"][table] == rows, table
    assert torn["contents"].keys() == quiet["contents"].keys()


def test_a_writer_killed_a_dozen_times(tmp_path: Path):
    told = lives(tmp_path, seed=7, jobs=20, steps=6, kills=6, timeout_s=110)
    judge(tmp_path, told, deaths=12)


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_writer_killed_fifty_times(tmp_path: Path, seed: int):
    """After every kind of write, and at moments nobody chose, over some two thousand events."""
    told = lives(tmp_path, seed=seed, jobs=120, steps=28, kills=22, timeout_s=850)
    judge(tmp_path, told, deaths=50)
    assert told["pending"] == []
