"""A past played from the command line, kept, and shown by the review."""

from pathlib import Path

import pytest

from tests.e2e.cli.driver import many

pytestmark = pytest.mark.timeout(300)  # the first test of a process waits for the demo, on busy cores

SPAN = ["--from", "2026-09-03T18:00", "--to", "2026-09-04"]
RECORDED = """
    SELECT account, subject, amount FROM report_what_ifs WHERE side = 'recorded' AND figure = 'lost_gpu_ms'
"""
PLAYING = "Playing 1 day twice"


def test_it_is_played_once_and_shown_by_the_review(copy: Path):
    told, program, report, wider, tampered = many(
        copy,
        [
            ["what-if", *SPAN],
            ["what-if", *SPAN, "--json"],
            ["report", *SPAN, "--json"],
            ["report", "--last", "2d", "--account", "aurora-lab/science", "--pool", "H100", "--json"],
            ["what-if", "--from", "2026-09-03T18:30", "--to", "2026-09-04"],
        ],
    )
    assert told.code == program.code == report.code == wider.code == 0, told.err + program.err + report.err
    assert PLAYING in told.err
    assert PLAYING not in program.err
    for said in ("What enforcement would have changed", "funded debug", "occupied", "would have been made"):
        assert said in told.out
    assert (tampered.code, "whole hours" in tampered.err or "whole hour" in tampered.err) == (2, True)

    figures = program.json["figures"]
    assert {f["side"] for f in figures} == {"recorded", "without", "with"}
    owed = {f["account"]: f["amount"] for f in figures if (f["side"], f["figure"]) == ("recorded", "owed_gpu_ms")}
    rows = report.json["sections"]["enforcement"]["rows"]
    assert {row["account"] for row in rows} <= owed.keys()
    book = {
        row["account"]: row["owed_gpu_ms"]
        for row in report.json["sections"]["accounts"]["rows"]
        if row["pool"] == "H100"
    }
    shown = {row["account"]: row["owed_recorded_gpu_ms"] for row in rows if row["pool"] == "H100"}
    assert {account: book[account] for account in shown} == shown

    below = wider.json["sections"]["enforcement"]["rows"]
    assert below
    assert all(row["account"].startswith("aurora-lab/science/") and row["pool"] == "H100" for row in below)
    assert wider.json["sections"]["enforcement_waits"]["rows"]


def test_what_is_recorded_settles_with_the_losses_of_the_book(copy: Path):
    """By account and cause; the view counts pauses after a checkpoint, a what-if does not, so it is never more."""
    lost = """
        SELECT account, cause, toInt64(sum(lost_gpu_ms)) AS lost_gpu_ms FROM report_losses
        WHERE hour >= '2026-09-03 18:00:00' AND hour < '2026-09-04 00:00:00' GROUP BY account, cause ORDER BY ALL
    """
    _, kept, view = many(
        copy,
        [
            ["what-if", *SPAN],
            [
                "sql",
                "--json",
                RECORDED,
            ],
            ["sql", "--json", lost],
        ],
    )
    in_book = {(account, cause): amount for account, cause, amount in view.json["rows"] if amount}
    in_play = {(account, cause): amount for account, cause, amount in kept.json["rows"]}
    assert in_play.keys() <= in_book.keys()
    assert all(amount <= in_book[key] for key, amount in in_play.items())
    assert sum(in_play.values()) >= 0.95 * sum(in_book.values()) > 0
