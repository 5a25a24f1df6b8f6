"""A policy's fields as people type them, and who set what is in force."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from ledger.events.decisions import PolicySetData
from ledger.policy import Policy
from tenure.cli.exits import Stop
from tenure.cli.policies import FIELDS, MEANS, before_pause, in_force, plain, wanted
from tests.support.folded import folded
from tests.support.said import opens, policy, s, t


def test_every_field_of_the_event_can_be_set_and_is_shown():
    assert {*FIELDS, "cluster", "author", "reason"} == set(PolicySetData.model_fields)
    assert {"opens_at", *Policy._fields} == set(FIELDS)


def test_every_kind_of_enforcement_is_explained():
    said = PolicySetData.model_fields["enforcement"].annotation
    (words, _) = get_args(said)
    assert set(MEANS) == set(get_args(words))


def test_numbers_may_be_written_as_lengths():
    assert wanted(["grace_s=2m", "window_h=14d", "hold_s=300", "ranking=decay", "opens_at=2026-03-01"]) == {
        "grace_s": 120,
        "window_h": 336,
        "hold_s": "300",
        "ranking": "decay",
        "opens_at": datetime(2026, 3, 1, tzinfo=UTC),
    }


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["grace_s"], "write FIELD=VALUE"),
        (["grace=1"], "with one of opens_at, window_h"),
        (["grace_s=1", "grace_s=2"], "named twice"),
        (["grace_s=soon"], "write a number, or one with its unit"),
        (["window_h=90m"], "whole hours"),
        (["opens_at=x"], "is no instant"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_write(named: list[str], said: str):
    with pytest.raises(Stop, match=said):
        wanted(named)


def row(time: str, detail: str, author: str = "ann") -> dict[str, Any]:
    return {"occurred_at": t(time), "detail": detail, "author": author, "reason": "so"}


def test_who_set_a_field_is_the_last_in_the_log_that_was_in_force():
    """One that came later, for an earlier instant, counts: the log decides."""
    state = folded(
        [
            opens("08:00"),
            policy("09:00", grace_s=30, hold_s=60),
            policy("08:30", grace_s=40),
            policy("10:00", grace_s=50),
        ]
    ).book.state
    decisions = [
        row("10:00", "grace_s=50", "d"),
        row("08:30", "grace_s=40", "c"),
        row("09:00", "grace_s=30, hold_s=60", "b"),
        row("day 0 12:00", "opens_at=2026-03-02T08:00:00Z", "a"),
    ]
    found = {f.name: (f.value, f.row["author"] if f.row else None) for f in in_force(state, decisions, s("09:30"))}
    assert found["grace_s"] == (40, "c")
    assert found["hold_s"] == (60, "b")
    assert found["window_h"] == (168, None)
    assert found["opens_at"] == (t("08:00"), "a")


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ([], "observe"),
        (["enforce", "paused"], "enforce"),
        (["enforce", "observe", "paused", "paused"], "observe"),
        (["paused"], "observe"),
    ],
)
def test_a_pause_ends_with_what_was_before_it(said: list[str], before: str):
    told = [opens("08:00"), *(policy(f"09:{n:02}", enforcement=one) for n, one in enumerate(said))]
    assert before_pause(folded(told).book.state, s("10:00")) == before


def test_long_values_are_also_told_as_lengths():
    shown = [plain("grace_s", 60), plain("max_min_runtime_s", 28_800), plain("window_h", 168), plain("opens_at", None)]
    assert shown == ["60", "28800 (8 h)", "168 (7 d)", "–"]
    assert plain("opens_at", t("08:00")) == "2026-03-02 08:00"
