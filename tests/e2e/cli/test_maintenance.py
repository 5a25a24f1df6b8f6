"""Maintenance windows from the command line."""

from pathlib import Path

import pytest

from tests.e2e.cli.driver import many
from tests.support.enforced import a_morning

pytestmark = pytest.mark.timeout(300)

PLAN = ["maintenance", "plan", "--nodes", "n[1-2]", "--from", "2d", "--until", "4h", "--reason", "new fans"]
LISTED = ["maintenance", "--json"]


def test_a_window_is_planned_moved_listed_and_taken_back(tmp_path: Path):
    log = a_morning().write(tmp_path / "morning.jsonl")
    _, nothing, asked, planned, moved, one, shown = many(
        tmp_path / "book",
        [
            ["ingest", str(log), "--json"],
            LISTED,
            PLAN,
            [*PLAN, "--window", "fans", "--author", "omar", "--yes", "--json"],
            [*PLAN[:3], "n1", *PLAN[4:], "--window", "fans", "--yes"],
            LISTED,
            ["maintenance"],
        ],
    )
    assert nothing.json["windows"] == []
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert (planned.json["window"], planned.json["nodes"], planned.json["author"]) == ("fans", ["n1", "n2"], "omar")
    assert planned.json["runs"] > 0
    assert planned.json["protected_past_its_begin"] == 0, "contracts of March are banked"
    assert moved.code == 0
    assert "on them now; what is left shortly before is ordered off" in moved.out
    assert "fans: n1 in maintenance from " in moved.out
    (window,) = one.json["windows"]
    assert (window["window"], window["nodes"], window["state"], window["reason"]) == (
        *("fans", ["n1"], "planned", "new fans"),
    )
    assert "new fans" in shown.out
    (asked, cancelled, twice, left, everything, told) = many(
        tmp_path / "book",
        [
            ["maintenance", "cancel", "fans"],
            ["maintenance", "cancel", "fans", "--yes", "--json"],
            ["maintenance", "cancel", "fans", "--yes"],
            LISTED,
            [*LISTED, "--all"],
            ["sql", "SELECT kind, subject, author FROM report_decisions WHERE kind = 'maintenance'", "--json"],
        ],
    )
    assert asked.code == 2
    assert (cancelled.json["window"], cancelled.json["cancelled"]) == ("fans", True)
    assert (twice.code, "has no window fans" in twice.err) == (3, True)
    assert left.json["windows"] == []
    assert [window["state"] for window in everything.json["windows"]] == ["cancelled"]
    assert len(told.json["rows"]) == 3


WRONG: list[tuple[dict[str, str], int, str]] = [
    ({"--nodes": "n1,n9"}, 3, "c has no node n9"),
    ({"--nodes": "n[1-"}, 2, "cut short"),
    ({"--nodes": ","}, 2, "names no node"),
    ({"--until": "2026-03-02"}, 2, "must end after it begins"),
    ({"--from": "2026-03-02", "--until": "1h"}, 2, "and after now"),
    ({"--from": "soon"}, 2, "is no instant"),
]


def test_what_cannot_be_meant_is_not_written(tmp_path: Path):
    log = a_morning().write(tmp_path / "morning.jsonl")
    given = dict(zip(PLAN[2::2], PLAN[3::2], strict=True))
    commands = [
        [*PLAN[:2], *(word for pair in (given | changes).items() for word in pair), "--yes"] for changes, *_ in WRONG
    ]
    _, *answers, listed = many(
        tmp_path / "book", [["ingest", str(log), "--json"], *commands, ["maintenance", "--all", "--json"]]
    )
    for (changes, code, says), answer in zip(WRONG, answers, strict=True):
        assert (answer.code, says in answer.err) == (code, True), (changes, answer.err)
    assert listed.json["windows"] == []
