"""`tenure collect slurm` with commands that answer as Slurm's do, or do not."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest

from streams.sources.slurm.live.cursor import Kept
from streams.sources.slurm.live.kept import CursorFile
from tests.e2e.cli.driver import Answer, many, one

pytestmark = pytest.mark.timeout(200)

NODES = """NodeName=gn1 Arch=x86_64
   Gres=gpu:h100:8
   State=MIXED ThreadsPerCore=1
"""
SACCT = "JobID|JobIDRaw|User|Account|State|Submit|Eligible|Start|End|ElapsedRaw|NodeList|AllocTRES|ReqTRES|Comment\n"
SCRIPT = """#!/bin/sh
[ -e "$0.hangs" ] && exec sleep 30
[ -e "$0.fails" ] && { cat "$0.fails" >&2; exit 1; }
[ "$4" = reservation ] && exec echo No reservations in the system
cat "$0.says"
"""


class FakeSlurm:
    """Three commands in a folder, each saying what its file says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self.data = folder / "data"
        self.begin_s = int(time.time()) - 20
        for name in ("squeue", "sacct", "scontrol"):
            script = self.folder / name
            script.write_text(SCRIPT)
            script.chmod(0o755)
        self.says("scontrol", NODES)
        self.says("sacct", SACCT)
        self.runs()
        self.config = folder / "tenure.toml"
        self.config.write_text(f'[slurm.lab]\n[collect.lab]\nfolder = "{self.folder}"\ntimeout = "1s"\nevery = "1s"\n')

    def says(self, name: str, text: str) -> None:
        (self.folder / f"{name}.says").write_text(text)

    def fails(self, name: str, why: str) -> None:
        (self.folder / f"{name}.fails").write_text(why)

    def hangs(self, name: str) -> None:
        (self.folder / f"{name}.hangs").touch()

    def runs(self, **more: Any) -> None:
        job = {
            "job_id": 12,
            "job_state": "RUNNING",
            "user_name": "ada",
            "account": "nlp",
            "submit_time": self.begin_s,
            "eligible_time": self.begin_s,
            "start_time": self.begin_s + 5,
            "nodes": "gn1",
            "tres_alloc_str": "gres/gpu=4",
            "tres_req_str": "gres/gpu=4",
            **more,
        }
        self.says("squeue", json.dumps({"errors": [], "jobs": [job]}))

    def collect(self, *more: str) -> Answer:
        return one(self.data, "collect", "slurm", "--config", str(self.config), *more)

    def once(self, *more: str) -> Answer:
        return self.collect("--once", "--json", *more)

    @property
    def cursor(self) -> CursorFile:
        return CursorFile(self.data / "collect" / "slurm-lab.json")


@pytest.fixture
def slurm(tmp_path: Path) -> FakeSlurm:
    return FakeSlurm(tmp_path)


def test_what_runs_is_in_the_book_and_is_told_once(slurm: FakeSlurm) -> None:
    first = slurm.collect("--once")
    assert first.code == 0, first.err
    assert "jobs running" in first.out
    assert "told: job.started" in first.out
    again = slurm.once()
    assert again.code == 0
    assert again.json["events"] == {}
    assert again.json["jobs"] == {"running": 1}
    slurm.runs(job_state="COMPLETED", end_time=slurm.begin_s + 15)
    assert slurm.once().json["events"] == {"job.ended": 1}
    (run,) = one(slurm.data, "sql", "SELECT job, running_s, gpus_milli FROM report_runs", "--json").json["rows"]
    assert run == ["12", 10, 4000]


def test_what_gets_no_answer_is_told_with_what_to_do(slurm: FakeSlurm) -> None:
    slurm.once()
    slurm.fails("squeue", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    slurm.hangs("sacct")
    partly = slurm.once()
    assert partly.code == 1
    refused, slow = partly.json["silent"]
    assert "Unable to contact slurm controller" in refused
    assert "Run it by hand as this user" in refused
    assert "gave no answer in 1 s" in slow
    assert partly.json["jobs"] == {"running": 1}
    slurm.fails("scontrol", "")
    assert slurm.once().code == 6


def test_a_row_that_is_no_record_is_a_dead_letter_once(slurm: FakeSlurm) -> None:
    slurm.says("squeue", json.dumps({"errors": [], "jobs": [{"job_id": 3, "job_state": "DANCING", "submit_time": 5}]}))
    first = slurm.once()
    assert first.code == 1
    assert first.json["dead_letters"] == ["unknown_state"]
    assert slurm.once().json["dead_letters"] == []
    listed = one(slurm.data, "dead-letters", "list")
    assert "unknown_state" in listed.out


def test_what_a_crash_left_unsent_is_sent_with_the_next_poll(slurm: FakeSlurm) -> None:
    slurm.once()
    kept = slurm.cursor.load()
    assert kept is not None
    data = {"cluster": "lab", "job": "9", "user": "ada", "gpus_milli": 1000}
    left = {"specversion": "1.0", "id": "left", "source": "slurm/lab", "type": "tenure.job.submitted.v1"}
    time_ = datetime.fromtimestamp(slurm.begin_s, UTC).isoformat()
    slurm.cursor.save(Kept(kept.cursor, (json.dumps(left | {"time": time_, "data": data}),)))
    answer = slurm.once()
    assert (answer.json["events"], answer.json["unsent"]) == ({}, 0)
    after = slurm.cursor.load()
    assert after is not None
    assert after.outbox == ()
    rows = one(slurm.data, "sql", "SELECT job FROM report_jobs ORDER BY job", "--json").json["rows"]
    assert rows == [["12"], ["9"]]


def test_two_collectors_of_one_cluster_are_one_too_many(slurm: FakeSlurm) -> None:
    slurm.once()
    with slurm.cursor.path.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        busy = slurm.once()
    assert busy.code == 4
    assert "another collector" in busy.err


def test_a_damaged_cursor_says_how_to_go_on(slurm: FakeSlurm) -> None:
    slurm.once()
    slurm.cursor.path.write_text("{")
    broken = slurm.once()
    assert broken.code == 2
    assert "--since" in broken.err
    slurm.cursor.path.unlink()
    again = slurm.once("--since", "2020-01-01")
    assert again.code == 0, again.err
    assert again.json["refused"] == {}
    (run,) = one(slurm.data, "sql", "SELECT count() FROM report_runs", "--json").json["rows"]
    assert run == [1]


def test_wrong_usage_is_told(slurm: FakeSlurm, tmp_path: Path) -> None:
    nowhere, two = tmp_path / "nowhere.toml", tmp_path / "two.toml"
    nowhere.write_text('[slurm.lab]\n[collect.lab]\nslurmrestd = "somewhere"\n')
    two.write_text("[slurm.a]\n[slurm.b]\n")
    begin = ["collect", "slurm", "--once", "--config"]
    asked = {
        "--to kafka": [*begin, str(slurm.config), "--to", "carrier pigeon"],
        "is not a duration": [*begin, str(slurm.config), "--every", "soon"],
        "is no instant": [*begin, str(slurm.config), "--since", "then"],
        "unix:/run/slurmrestd": [*begin, str(nowhere)],
        "--cluster NAME": [*begin, str(two)],
    }
    for says, answer in zip(asked, many(slurm.data, list(asked.values())), strict=True):
        assert answer.code == 2, answer.err
        assert says in answer.err
