"""Shares, requests and grants from the command line."""

import json
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
    as_it_is, twice, corrected, listed, opened, unknown = many(
        copy,
        [
            retry,
            ["dead-letters", "list", "--json"],
            [*retry, "--with", str(fixed)],
            ["dead-letters", "list", "--json"],
            ["dead-letters", "list", "--open"],
            ["dead-letters", "show", "zz"],
        ],
    )
    assert (as_it_is.code, "stale_revision" in as_it_is.out) == (1, True)
    assert (twice.json["count"], twice.json["taken"]) == (2, 0)
    assert (corrected.code, "applied" in corrected.out) == (0, True)
    assert (listed.json["count"], listed.json["taken"]) == (2, 2)
    places = [found["taken_at"] for found in listed.json["dead_letters"]]
    assert places[0] == places[1]
    assert places[0]["offset"] > max(found["offset"] for found in listed.json["dead_letters"])
    assert "0 dead letters" in opened.out
    assert unknown.code == 3


def test_what_is_sure_to_be_refused_again_is_not_sent_with_all_the_others(copy: Path, tmp_path: Path):
    """Of three letters one is an event refused for its time, one a decision that is stale, and one no event at all."""
    broken = tmp_path / "events.jsonl"
    early = {"cluster": "aurora", "job": "early", "user": "u", "gpus_milli": 1000}
    head = {"specversion": "1.0", "id": "early", "source": "test", "type": "tenure.job.submitted.v1"}
    event = head | {"time": "2031-03-01T00:10:00Z", "data": early}
    broken.write_text(f"{{no json\n{json.dumps(event)}\n")
    sent = ["dead-letters", "retry", "--all", "--json"]
    taken_in, dry, by_reason, once, again, listed, neither, both = many(
        copy,
        [
            ["ingest", str(broken), "--json"],
            [*sent, "--dry-run"],
            ["dead-letters", "retry", "--reason", "stale_revision"],
            sent,
            sent,
            ["dead-letters", "list", "--json"],
            ["dead-letters", "retry"],
            ["dead-letters", "retry", "x", "--all"],
        ],
    )
    assert taken_in.json["book"]["outcomes"] == {"from_the_future": 1}
    assert {row["was"]: row["now"] for row in dry.json["retried"]} == {
        "stale_revision": "not sent",
        "not_json": "not sent",
        "from_the_future": "to be sent",
    }
    assert not any(row["sent"] for row in dry.json["retried"])
    assert (by_reason.code, "not sent" in by_reason.out, "0 of 1 letter" in by_reason.out) == (1, True, True)
    assert [row["was"] for row in once.json["retried"] if row["sent"]] == ["from_the_future"]
    assert once.code == again.code == 1
    assert len(again.json["retried"]) == 3, "of letters that speak of one event the latest is sent"
    assert listed.json["count"] == 5
    assert (neither.code, both.code) == (2, 2)


def test_a_decision_under_an_id_that_was_decided_on_is_told_to_have_changed_nothing(copy: Path, tmp_path: Path):
    (listed,) = many(copy, [["dead-letters", "list", "--json"]])
    (letter,) = listed.json["dead_letters"]
    named = tmp_path / "named.json"
    named.write_text(letter["raw_text"].replace(letter["event_id"], "of-mine"))
    fixed = tmp_path / "fixed.json"
    fixed.write_text(named.read_text().replace('"expected_revision":1', '"expected_revision":2,"backdated":true'))
    retry = ["dead-letters", "retry", letter["id"], "--with"]
    refused, passed_by, told = many(copy, [[*retry, str(named)], [*retry, str(fixed)], [*retry, str(fixed), "--json"]])
    assert (refused.code, "it is a new dead letter" in refused.out) == (1, True)
    assert (passed_by.code, "changed nothing: a decision came under its id" in passed_by.out) == (1, True)
    assert [row["taken"] for row in told.json["retried"]] == [False]


def test_a_replay_can_be_switched_to_with_its_samples(copy: Path):
    used = ["sql", "--json", "SELECT round(sum(utilized_gpu_ms)) AS u FROM report_run_gpu_hours"]
    before, switched, after, back = many(copy, [used, ["replay", "--switch", "--json"], used, ["doctor"]])
    assert switched.json["switched"] is True
    assert switched.json["live"] == "g2"
    assert before.json["rows"] == after.json["rows"] != [[0]]
    assert "the views show g2" in back.out
