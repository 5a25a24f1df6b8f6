"""A cluster's own files, as the README brings them in: what the book has of their time."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.driver import ROOT, many

pytestmark = pytest.mark.timeout(300)

CONFIG = """
cluster = "lab"
[slurm.lab]
rules = [{ account = "*", budget = "lab/{account}", min_runtime = "2h" }]
shares = [{ parent = "lab", children = { nlp = 60, vis = 40 } }]
"""
HEAD = "JobID|User|Account|State|Submit|Start|End|ElapsedRaw|AllocTRES|NodeList\n"
NODES = """NodeName=gn01 Arch=x86_64 CoresPerSocket=32
   Gres=gpu:h100:8
   State=IDLE ThreadsPerCore=1
   BootTime=2026-09-20T08:00:00 SlurmdStartTime=2026-09-20T08:01:00
   LastBusyTime=2026-10-08T10:00:00 ResumeAfterTime=None
   CfgTRES=cpu=64,gres/gpu=8

"""


def jobs(*days: str, gpus: int = 8) -> str:
    """A job of four hours from 09:00 on each day."""
    rows = (
        f"{n}|ada|nlp|COMPLETED|{day}T08:00:00|{day}T09:00:00|{day}T13:00:00|14400|gres/gpu:h100={gpus}|gn01\n"
        for n, day in enumerate(days, start=int(days[0].replace("-", "")))
    )
    return HEAD + "".join(rows)


def written(folder: Path, **files: str) -> dict[str, str]:
    """Their paths, by name; the configuration beside them."""
    folder.mkdir(exist_ok=True)
    (folder / "tenure.toml").write_text(CONFIG)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return {name: str(folder / f"{name}.txt") for name in files} | {"config": str(folder / "tenure.toml")}


def metric(told: dict[str, Any], name: str) -> tuple[int, int]:
    (found,) = (m for m in told["metrics"] if m["metric"] == name)
    return found["numerator"], found["denominator"]


def test_a_node_list_beside_a_job_history_gives_its_time_capacity_and_claims(tmp_path: Path):
    at = written(tmp_path / "in", nodes=NODES, jobs=jobs("2026-10-02", "2026-10-03"))
    how = ["--config", at["config"]]
    taken, measured, accounts, shares, again = many(
        tmp_path / "book",
        [
            ["ingest", at["nodes"], at["jobs"], *how],
            ["metrics", "--month", "2026-10", "--json", *how],
            ["accounts", "--json", *how],
            ["shares", "show", "--json", *how],
            ["ingest", at["nodes"], at["jobs"], "--json", *how],
        ],
    )
    assert taken.code == 0
    assert metric(measured.json, "availability") == (145 * 8 * 3_600_000,) * 2  # from the 2nd at 8 until the 8th at 9
    assert metric(measured.json, "occupancy")[0] == 2 * 4 * 8 * 3_600_000
    assert metric(measured.json, "claim_gpu_hours")[0] == 145 * 8 * 3_600_000
    claims = {a["account"]: a["claim_gpu_ms"] for a in accounts.json["accounts"]}
    assert claims["lab/nlp"] * 2 == claims["lab/vis"] * 3 > 0
    assert [s["share_percent"] for s in shares.json["shares"] if s["account"] == "lab/nlp"] == [{"h100": "60"}]
    assert set(again.json["book"]["outcomes"]) == {"repeated"}


def test_a_book_without_gpus_says_that(tmp_path: Path):
    events: list[tuple[str, dict[str, Any]]] = [
        ("policy.set", {"opens_at": "2026-10-01T00:00:00Z", "author": "x"}),
        ("shares.set", {"parent": "lab", "author": "x", "expected_revision": 0, "children": []}),
        ("clock.ticked", {"at": "2026-10-01T00:00:00Z"}),
    ]
    log = tmp_path / "log.jsonl"
    head: dict[str, Any] = {"specversion": "1.0", "source": "test", "time": "2026-10-01T00:00:00Z"}
    lines = [head | {"id": t, "type": f"tenure.{t}.v1", "data": {"cluster": "c", **data}} for t, data in events]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, *asked = many(tmp_path / "book", [["ingest", str(log)], ["accounts"], ["accounts", "lab/x"], ["shares", "show"]])
    for answer in asked:
        assert (answer.code, "no GPUs are known at 2026-10-01 00:00 UTC" in answer.err) == (3, True)


def test_what_is_older_than_the_book_is_said_before_and_after_it_is_taken(tmp_path: Path):
    at = written(tmp_path / "in", older=jobs("2026-09-02", "2026-09-03"), newer=jobs("2026-10-02", "2026-10-03"))
    how = ["--config", at["config"]]
    newer, older, told, again, verified, explained = many(
        tmp_path / "book",
        [
            ["ingest", at["newer"], *how],
            ["ingest", at["older"], *how, "--json"],
            ["ingest", at["older"], "--cluster", "other", *how],
            ["ingest", at["older"], *how],
            ["verify", "--json", *how],
            ["explain", "20260902", *how],
        ],
    )
    assert (newer.code, older.code, told.code, again.code) == (0, 1, 0, 0)
    assert "2 runs of lab, 64.0 GPU-hours, ended before its book opens at 2026-10-02 08:00 UTC" in older.err
    assert older.json["book"]["remarks"] == {"before_opening": 2}
    assert "before its book opens" not in again.err + told.err
    assert "before_opening" in {w["name"] for w in verified.json["warnings"]}
    assert "before the book opens at" in " ".join(explained.out.split())


def test_a_node_list_alone_closes_nothing_and_says_so(tmp_path: Path):
    at = written(tmp_path / "in", nodes=NODES)
    how = ["--config", at["config"]]
    _, *asked, jobs_ = many(
        tmp_path / "book",
        [
            ["ingest", at["nodes"], *how],
            ["accounts", *how],
            ["jobs", *how],
            ["doctor", *how],
            ["jobs", "--json", *how],
        ],
    )
    for answer in asked:
        assert "othing is closed yet" in answer.out + answer.err
        assert "1970" not in answer.out + answer.err
    assert jobs_.json["watermarks"] == {"lab": None}


def test_a_folder_may_hold_other_files_too(tmp_path: Path):
    at = written(tmp_path / "in", jobs=jobs("2026-10-02"))
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    (taken,) = many(tmp_path / "book", [["ingest", str(tmp_path / "in"), "--config", at["config"]]])
    assert taken.code == 1  # not all of it was taken
    assert "picture.png: the format is not recognised" in " ".join(taken.err.split())
    assert "2 files passed over: picture.png, tenure.toml" in taken.out


FORGET = """
import sys
from chdb import session
where = "generation = 'g1'" if sys.argv[2] == "all" else "cluster = 'lab'"
session.Session(sys.argv[1]).query(
    f"ALTER TABLE tenure.partition_checkpoints DELETE WHERE {where} SETTINGS mutations_sync = 2"
)
"""


@pytest.mark.parametrize("what", ["lab", "all"])
def test_a_book_that_lost_its_checkpoint_is_folded_anew_and_says_so(tmp_path: Path, what: str):
    at = written(tmp_path / "in", first=jobs("2026-10-02", "2026-10-03"), then=jobs("2026-10-04"))
    how = ["--config", at["config"]]
    whole, book = tmp_path / "whole", tmp_path / "book"
    counted = ["sql", "SELECT count() AS n, sum(charged_gpu_ms) AS c FROM report_account_hours", "--json", *how]
    (*_, before) = many(whole, [["ingest", at["first"], *how], counted])
    shutil.copytree(whole, book, symlinks=True)
    (_, expected) = many(whole, [["ingest", at["then"], *how], counted])
    subprocess.run([sys.executable, "-c", FORGET, str(book / "book"), what], check=True, cwd=ROOT)
    looked, ingested, verified, after = many(
        shutil.copytree(book, tmp_path / "other", symlinks=True),
        [["doctor", *how], ["ingest", at["then"], *how], ["verify", "--json", *how], counted],
    )
    assert (looked.code, "records and no checkpoint" in " ".join(looked.out.split())) == (1, True)
    assert "records and no checkpoint: it is folded anew" in ingested.err
    assert (verified.json["clean"], after.json["rows"]) == (True, expected.json["rows"])
    shown, again = many(book, [["accounts", *how], counted])
    assert (shown.code, "records and no checkpoint: it is folded anew" in shown.err) == (0, True)
    assert again.json["rows"] == before.json["rows"]
