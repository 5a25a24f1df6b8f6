"""Shares, requests and grants from the command line."""

from pathlib import Path

import pytest

from tests.e2e.cli.driver import many

pytestmark = pytest.mark.timeout(300)  # the first test of a process waits for the demo, on busy cores

PARENT = "aurora-lab/science"


def test_a_set_is_previewed_compared_and_written_once(copy: Path):
    change = ["shares", "set", PARENT, "climate=30", "proteins=35", "--reason", "back"]
    asked, dry, written, stale, over, shown = many(
        copy,
        [
            change,
            [*change, "--dry-run"],
            [*change, "--expect", "2", "--yes", "--author", "omar"],
            [*change, "--expect", "2", "--yes"],
            ["shares", "set", PARENT, "climate=90", "--yes"],
            ["shares", "history", PARENT, "--json"],
        ],
    )
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert dry.code == 0
    assert "Revision 3 of aurora-lab/science" in dry.out
    assert "+38.3" in dry.out
    assert "-38.3" in dry.out
    assert written.code == 0
    assert (stale.code, "stale_revision" in stale.err) == (1, True)
    assert (over.code, "shares_over_100" in over.err) == (1, True)
    newest = [row for row in shown.json["revisions"] if row["revision"] == 3]
    assert {row["child"]: row["share_percent"] for row in newest}["climate"] == "30.000000"
    assert {row["author"] for row in newest} == {"omar"}


def test_a_request_is_answered_by_shares_that_carry_it_out(copy: Path):
    (asked,) = many(copy, [["shares", "request", f"{PARENT}/climate", "30", "--reason", "more ice", "--json"]])
    name = asked.json["request"]
    refused, amended, again, listed = many(
        copy,
        [
            ["shares", "decide", name, "approve", "--yes"],
            ["shares", "decide", name, "amend", "--percent", "28", "--with", "proteins=37", "--yes", "--json"],
            ["shares", "decide", name, "refuse", "--yes"],
            ["shares", "requests", "--json"],
        ],
    )
    assert (refused.code, "sum to 105 percent" in refused.err) == (1, True)
    assert amended.json == {"request": name, "decision": "amended", "share_percent": "28", "revision": 3}
    assert (again.code, "answered already" in again.err) == (1, True)
    found = next(row for row in listed.json["requests"] if row["request"] == name)
    assert found["decision"].startswith("amended at 28 percent")


def test_a_grant_is_of_one_pool_and_exact(copy: Path):
    make = ["grants", "make", f"{PARENT}/climate", "12.5", "--until", "7d", "--yes"]
    without, made, listed = many(copy, [make, [*make, "--pool", "H100"], ["grants", "list", "--json"]])
    assert (without.code, "B200, H100" in without.err) == (2, True)
    assert made.code == 0
    amounts = [grant["amount_gpu_ms"] for grant in listed.json["grants"]]
    assert amounts[-1] == 45_000_000


def test_a_dead_letter_can_be_sent_again_corrected(copy: Path, tmp_path: Path):
    (listed,) = many(copy, [["dead-letters", "list", "--json"]])
    (letter,) = listed.json["dead_letters"]
    fixed = tmp_path / "fixed.json"
    fixed.write_text(letter["raw_text"].replace('"expected_revision":1', '"expected_revision":2,"backdated":true'))
    retry = ["dead-letters", "retry", letter["id"]]
    as_it_is, corrected, unknown = many(copy, [retry, [*retry, "--with", str(fixed)], ["dead-letters", "show", "zz"]])
    assert (as_it_is.code, "stale_revision" in as_it_is.out) == (1, True)
    assert (corrected.code, "applied" in corrected.out) == (0, True)
    assert unknown.code == 3


def test_a_decision_under_an_id_that_was_decided_on_is_told_to_have_changed_nothing(copy: Path, tmp_path: Path):
    (listed,) = many(copy, [["dead-letters", "list", "--json"]])
    (letter,) = listed.json["dead_letters"]
    named = tmp_path / "named.json"
    named.write_text(letter["raw_text"].replace(letter["event_id"], "of-mine"))
    fixed = tmp_path / "fixed.json"
    fixed.write_text(named.read_text().replace('"expected_revision":1', '"expected_revision":2,"backdated":true'))
    retry = ["dead-letters", "retry", letter["id"], "--with"]
    refused, passed_by, told = many(copy, [[*retry, str(named)], [*retry, str(fixed)], [*retry, str(fixed), "--json"]])
    assert (refused.code, "stale_revision; it is a new dead letter" in refused.out) == (1, True)
    assert (passed_by.code, "repeated, which changed nothing" in " ".join(passed_by.out.split())) == (1, True)
    assert told.json["taken"] is False


def test_a_replay_can_be_switched_to_with_its_samples(copy: Path):
    used = ["sql", "--json", "SELECT round(sum(utilized_gpu_ms)) AS u FROM report_run_gpu_hours"]
    before, switched, after, back = many(copy, [used, ["replay", "--switch", "--json"], used, ["doctor"]])
    assert switched.json["switched"] is True
    assert switched.json["live"] == "g2"
    assert before.json["rows"] == after.json["rows"] != [[0]]
    assert "the views show g2" in back.out
