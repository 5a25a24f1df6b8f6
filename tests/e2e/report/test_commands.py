"""`tenure metrics` and `tenure report`, run on a day of the demo with its samples."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.chdb import run_python

SCRIPT = """
import json
import sys
from datetime import UTC, datetime

import typer
from typer.testing import CliRunner

from ledger.store.clickhouse import open_chdb
from streams.runtime.embedded import Embedded
from tenure.cli.app import Commands
from tenure.cli.demo import columns
from tenure.cli.metrics import metrics
from tenure.cli.report import report
from tenure.demo import generate

folder, commands = sys.argv[1], json.loads(sys.argv[2])
demo = generate(1, 1)
store = open_chdb(folder + "/book")
store.migrate()
runtime = Embedded(store, lambda: datetime(2027, 1, 1, tzinfo=UTC))
runtime.ingest(demo.events)
for block in demo.samples:
    runtime.add_samples(columns(block))
runtime.close()

app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
app.command()(metrics)
app.command()(report)
for name, words in commands.items():
    done = CliRunner().invoke(app, [*words.split(), "--data", folder])
    print(json.dumps([name, done.exit_code, done.stdout, done.stderr]))
"""
DAY = "--from 2026-09-01 --to 2026-09-02"
BERLIN = "--tz Europe/Berlin --metric availability --json"
ANSWERED = {
    "text": f"report {DAY}",
    "files": f"report {DAY} --csv FOLDER/pack --svg FOLDER/r.svg --png FOLDER/r.png",
    "json": f"report {DAY} --pool H100 --account aurora-lab/science --json",
    "by pool": f"metrics {DAY} --csv --by day -g pool",
    "by user": f"metrics {DAY} --json -g user -m utilization",
    "a user": f"metrics {DAY} --user jorge.bauer",
    "2026-03": f"metrics --month 2026-03 {BERLIN}",
    "2026-10": f"metrics --month 2026-10 {BERLIN}",
    "2026-03 by hour": f"metrics --month 2026-03 --by hour {BERLIN}",
    "2026-10 by hour": f"metrics --month 2026-10 --by hour {BERLIN}",
}
REFUSED = {
    "metrics --tz Asia/Kolkata": (2, "zone_off_the_hour"),
    "report --tz Asia/Kathmandu": (2, "zone_off_the_hour"),
    "metrics --metric happiness": (2, "there is no metric 'happiness'"),
    "metrics --metric availability --user x": (2, "does not know user"),
    "metrics --by fortnight": (2, "none of hour, day, week, month"),
    "metrics --account aurora-lab/lnguage": (3, "did you mean aurora-lab/language"),
    "report --account nobody": (3, "knows no account"),
    "report --pool TPU": (3, "only B200, H100"),
    "report --month 2026-03": (2, "nothing_closed"),
    "report --png /nowhere/r.png": (2, "cannot be written"),
}


class Done(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def done(folder: Path) -> Mapping[str, Done]:
    """Every command of this file, run one after the other in one process on one book."""
    commands = ANSWERED | {words: words for words in REFUSED}
    asked = {name: words.replace("FOLDER", str(folder)) for name, words in commands.items()}
    ran = run_python(SCRIPT, str(folder), json.dumps(asked), timeout_s=110)
    assert ran.returncode == 0, ran.stderr
    found = {name: Done(*rest) for name, *rest in map(json.loads, ran.stdout.splitlines())}
    assert {name: found[name].err for name in ANSWERED if found[name].code} == {}
    return found


def test_a_report_is_printed_for_people(done: Mapping[str, Done]):
    text = done["text"].out
    for said in (
        "Budget review of all accounts on aurora",
        "From capacity to use",
        "(own part)",
        "How well it was used",
    ):
        assert said in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_report_is_written_as_csv_and_pictures(done: Mapping[str, Done], folder: Path):
    assert done["files"].out == ""
    assert done["files"].err.count("Wrote") == 3
    assert (folder / "pack" / "offenders.csv").read_text().count("\n") == 11
    svg = (folder / "r.svg").read_text()
    assert all(said in svg for said in ("H100: from capacity to use", "GPUs, each hour", "utilized", "pretraining"))
    assert (folder / "r.png").stat().st_size > 50_000


def test_a_report_is_json_for_programs(done: Mapping[str, Done]):
    found = json.loads(done["json"].out)
    assert (found["pools"], found["account"], found["closed_hours"]) == (["H100"], "aurora-lab/science", 24)
    use = {row["figure"]: row for row in found["sections"]["efficiency"]["rows"]}
    assert 0.3 < use["utilized"]["part"]["value"] < 1
    assert use["utilized"]["coverage"]["value"] > 0.8


def test_metrics_have_their_terms_coverage_unit_and_watermark(done: Mapping[str, Done]):
    rows = list(csv.DictReader(io.StringIO(done["by pool"].out)))
    assert {row["metric"] for row in rows} >= {"occupancy", "impact_strict", "utilization", "queue_wait_p90"}
    occupancy = next(row for row in rows if row["metric"] == "occupancy" and row["pool"] == "H100")
    assert 0.5 < int(occupancy["numerator"]) / int(occupancy["denominator"]) <= 1
    assert occupancy | {"numerator": "", "denominator": ""} == {
        "metric": "occupancy",
        "from": "2026-09-01T00:00:00Z",
        "until": "2026-09-02T00:00:00Z",
        "pool": "H100",
        "numerator": "",
        "numerator_of": "occupied_gpu_ms",
        "denominator": "",
        "denominator_of": "available_gpu_ms",
        "unit": "ratio",
        "covered": "24",
        "coverable": "24",
        "coverage_of": "hours",
        "watermark": "2026-09-02T00:00:00Z",
    }


@pytest.mark.parametrize(("month", "hours"), [("2026-03", 743), ("2026-10", 745)])
def test_a_month_that_changes_its_clocks_has_its_own_length(done: Mapping[str, Done], month: str, hours: int):
    (only,) = json.loads(done[month].out)["metrics"]
    assert (only["covered"], only["coverable"]) == (0, hours)
    assert len(json.loads(done[f"{month} by hour"].out)["metrics"]) == hours


def test_metrics_of_a_user_are_those_that_know_users(done: Mapping[str, Done]):
    users: list[dict[str, Any]] = json.loads(done["by user"].out)["metrics"]
    assert len({metric["user"] for metric in users}) == len(users) > 20
    text = done["a user"].out
    assert "utilization" in text
    assert "availability" not in text
    assert "Closed: aurora until 2026-09-02 00:00 UTC." in text


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_answered_is_refused_with_a_code_and_what_to_do(done: Mapping[str, Done], words: str):
    code, said = REFUSED[words]
    assert done[words].code == code
    assert said in done[words].err
