"""Plays every timeline of the text files beside it; the book is held against the oracle after each line."""

from pathlib import Path

import pytest

from tests.support.scenario import WrongScenario, play

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_book_says_what_the_timeline_expects(path: Path):
    assert play(path.read_text(encoding="utf-8").splitlines(), path.name)


def test_there_is_something_to_play():
    assert len(FILES) >= 10


BEGIN = ["== a cluster", "08:00 policy opens 08:00", "08:00 node n1 8xh100 available", "08:00 shares lab: a=60 b=40"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["08:00 tick"], "s:1: a timeline begins with a line `== title`"),
        ([*BEGIN, "08:10 destroy n1"], "s:5: 08:10 destroy n1\n  does not know the verb 'destroy'"),
        ([*BEGIN, "08:10 node n1 8xh100"], "something is missing at the end"),
        ([*BEGIN, "08:10 resume j1/1 quickly"], "does not understand 'quickly'"),
        ([*BEGIN, "start j1/1 on n1:4"], "a line begins with a time"),
        ([*BEGIN, "08:10 of yesterday tick"], "a time follows `of`"),
        ([*BEGIN, "08:10 submit j1 min soon"], "not a length of time: 'soon'"),
        ([*BEGIN, "08:10 submit j1 for"], "nothing follows 'for'"),
        ([*BEGIN, "expect happiness"], "does not know what 'happiness' to expect"),
        ([*BEGIN, "09:05 tick", "expect hour 08:00 lab/a claim 4"], "lab/a claim: the book says 24/5 GPU-hours (4.8)"),
        ([*BEGIN, "09:05 tick", "expect hour 08:00 lab/a claim 1/7"], "not a whole number of GPU-milliseconds"),
        ([*BEGIN, "09:05 tick", "expect repeated"], "the outcome: the book says Applied()"),
        ([*BEGIN, "expect refused stale_revision"], "expected stale_revision"),
        ([*BEGIN, "expect remark unknown_node"], "the remarks: the book says []"),
        ([*BEGIN, "expect run j1/1 funded yes"], "there is no run j1/1"),
        ([*BEGIN, "== another", "expect book a cluster"], "the facts hash"),
    ],
)
def test_a_wrong_line_is_named(lines: list[str], why: str):
    with pytest.raises(WrongScenario) as wrong:
        play(lines, "s")
    assert why in str(wrong.value)
