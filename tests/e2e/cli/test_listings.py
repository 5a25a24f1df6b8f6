"""Every listing answers people and programs."""

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.e2e.cli.conftest import LISTINGS
from tests.e2e.cli.driver import Answer, many

pytestmark = pytest.mark.timeout(300)  # the first test of a process waits for the demo, on busy cores

Answers = dict[str, tuple[Answer, Answer]]


@pytest.mark.parametrize("name", LISTINGS)
def test_a_table_fits_a_hundred_columns(answers: Answers, name: str):
    table, _ = answers[name]
    assert table.code == 0, table.err
    assert table.out.strip()
    lines = [line for line in table.out.splitlines() if not re.match(r"    .*\btenure sql ", line)]
    sentences = ("Closed: ",)
    assert not [line for line in lines if cell_len(line) > 100 and not line.startswith(sentences)]


@pytest.mark.parametrize("name", LISTINGS)
def test_json_is_one_object_that_says_how_far_it_is_true(answers: Answers, name: str):
    _, program = answers[name]
    assert program.code == 0, program.err
    told = program.json
    assert isinstance(told, dict)
    if name not in {"sql", "replay", "dead-letters list", "doctor", "report"}:
        assert told["watermarks"] == {"aurora": "2026-09-04T00:05:00Z"}
    if name == "metrics":
        assert told["closed_until"] == {"aurora": "2026-09-04T00:00:00Z"}


@pytest.mark.parametrize("name", ["accounts", "jobs", "queue", "grants list", "shares show", "shares history"])
def test_tables_say_how_far_they_are_true(answers: Answers, name: str):
    assert "True at 2026-09-04 00:05 UTC (aurora)." in answers[name][0].out.replace("\n", " ")


def test_amounts_for_programs_are_integers_with_their_unit(answers: Answers):
    accounts = answers["accounts"][1].json["accounts"]
    amounts = {key: value for account in accounts for key, value in account.items() if key.endswith("_gpu_ms")}
    assert amounts.keys() >= {"claim_gpu_ms", "owed_gpu_ms", "delivered_gpu_ms", "refunded_gpu_ms"}
    assert all(isinstance(value, int) for value in amounts.values())


def test_accounts_sum_to_their_parent(answers: Answers):
    lines = {a["account"]: a for a in answers["accounts"][1].json["accounts"] if a["pool"] == "H100"}
    below = [a for path, a in lines.items() if re.fullmatch(r"aurora-lab/[^/]+", path)]
    assert sum(a["claim_gpu_ms"] for a in below) == lines["aurora-lab"]["claim_gpu_ms"] > 0
    assert sum(a["delivered_gpu_ms"] for a in below) == lines["aurora-lab"]["delivered_gpu_ms"] > 0


def test_the_queue_is_in_the_order_of_its_ratios(answers: Answers):
    jobs = [job for job in answers["queue"][1].json["queue"] if job["pool"] == "B200" and job["position"]]
    assert [job["position"] for job in jobs] == list(range(1, len(jobs) + 1))
    funded = [job["path"] for job in jobs if job["path"]]
    keys = [[step["ratio"]["display"] for step in path] for path in funded]
    assert keys == sorted(keys)
    assert all(job["reason_sentence"] for job in jobs)


def test_the_demo_shows_what_there_is_to_see(first: Answer):
    for said in (
        "Where the GPU time of aurora went",
        "capacity",
        "utilized",
        "Who got what",
        "Delivered",
        "Why one job",
    ):
        assert said in first.out
    assert "was preempted" in first.out
    assert "verify: clean" in first.out
    assert "Try next" in first.out
    assert re.search(r"\n    .*\btenure queue\n", first.out)  # by the path it was called by, where there is no other
    assert "Traceback" not in first.err


def test_a_demo_that_is_there_is_only_shown(answers: Answers, first: Answer):
    again = answers["demo"][0]
    assert "The demo is there already: 3 days, seed 7, in " in again.err
    assert paths_apart(again.out) == paths_apart(first.out)


def paths_apart(shown: str) -> list[str]:
    """The lines but for those that name the folder."""
    return [line for line in shown.splitlines() if not line.startswith("    tenure ")]


def test_verify_and_replay_find_the_book_right(answers: Answers):
    assert answers["verify"][1].json["clean"] is True
    assert answers["replay"][1].json["equal"] is True


def test_the_one_refused_decision_is_a_dead_letter(answers: Answers, copy: Path):
    (letter,) = answers["dead-letters list"][1].json["dead_letters"]
    assert letter["reason"] == "stale_revision"
    assert json.loads(letter["raw_text"])["type"] == "tenure.shares.set.v1"
    table, program, raw = many(
        copy, [["dead-letters", "show", letter["id"], *extra] for extra in ([], ["--json"], ["--raw"])]
    )
    assert "stale_revision" in table.out
    assert bytes.fromhex(program.json["raw_hex"]).decode() == raw.out == letter["raw_text"]


def test_doctor_looks_at_everything_and_needs_no_hand(answers: Answers):
    told = answers["doctor"][1].json
    assert told["healthy"] is True
    names = {check["name"].removeprefix("aurora: ") for check in told["checks"]}
    assert names == {
        "data folder",
        "lock",
        "store",
        "schema",
        "generation",
        "log",
        "unfolded tail",
        "watermark",
        "checkpoint",
        "pending for ever",
        "clock",
        "dead letters",
        "remarks",
        "overbooked hours",
        "unknown nodes",
        "unfunded",
    }


def test_explain_tells_a_preemption_a_wait_and_a_correction(copy: Path, answers: Answers):
    preempted = json.loads((copy / "demo.json").read_text())["preempted"]
    waiting = next(job["job"] for job in answers["queue"][1].json["queue"] if job["path"] and job["position"] > 1)
    corrected = many(copy, [["sql", "--json", CORRECTED]])[0].json["rows"][0][0]
    asked = [["explain", job, *extra] for job in (preempted, waiting, corrected) for extra in ([], ["--json"])]
    shown, told, wait_shown, wait_told, moved_shown, moved_told = many(copy, asked)
    story = " ".join(shown.out.split())
    assert "it lost" in story
    assert "next on its nodes" in story
    assert told.json["losses"][0]["lost_gpu_ms"] > 0
    assert told.json["runs"][0]["charged_gpu_ms"] == told.json["runs"][0]["posted_charge_gpu_ms"]
    assert "Why it waits" in wait_shown.out
    assert "ρ on its path" in wait_shown.out
    assert wait_told.json["waiting"]["ahead"][-1]["because"]
    assert "correction of" in moved_shown.out
    assert moved_told.json["corrections"]


CORRECTED = """
SELECT subject FROM report_corrections AS c
WHERE type = 'tenure.run.observed.v1' AND subject IN (SELECT job FROM report_runs) ORDER BY moved_gpu_ms DESC LIMIT 1
"""


def test_sql_takes_parameters_writes_csv_and_refuses_to_write(copy: Path):
    counted = "SELECT count() AS jobs FROM report_jobs WHERE user = {user:String}"
    rows, table, refused, missing = many(
        copy,
        [
            ["sql", "SELECT user, count() AS n FROM report_jobs GROUP BY user ORDER BY user LIMIT 3", "--csv"],
            ["sql", counted, "-p", "user=nobody", "--json"],
            ["sql", "DROP TABLE events"],
            ["sql", counted],
        ],
    )
    assert rows.out.splitlines()[0] == "user,n"
    assert len(rows.out.splitlines()) == 4
    assert table.json["rows"] == [[0]]
    assert (refused.code, missing.code) == (6, 6)
    assert "only SELECT" in refused.err
    assert "Traceback" not in refused.err + missing.err
