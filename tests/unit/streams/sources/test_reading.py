"""Readings and their tally."""

from typing import get_args

import pytest

from streams.sources.reading import (
    SKIPPED_SENTENCES,
    Known,
    Place,
    Reading,
    Skipped,
    SkippedKind,
    Statement,
    Tally,
    Unreadable,
    name_of,
    tallied,
)


def test_every_kind_of_skipped_row_has_a_sentence():
    assert set(SKIPPED_SENTENCES) == set(get_args(SkippedKind))


def test_a_tally_adds_up_to_the_rows():
    here = Place(line=1)
    readings: list[Reading] = [
        Statement("run", (), here),
        Statement("job", (), here),
        Statement("node", (), here),
        Statement("event", (), here),
        Known("run", (), here),
        Known("node", (), here),
        Skipped("step", here),
        Skipped("step", here),
        Unreadable("truncated", "fetch it again", b"x", here),
    ]
    tally = Tally()
    assert list(tallied(readings, tally)) == readings
    assert tally.counts == {
        "first_statement": 1,
        "never_started": 1,
        "node": 1,
        "event": 1,
        "further_statement": 1,
        "node_again": 1,
        "step": 2,
        "unreadable:truncated": 1,
    }
    assert (tally.rows, tally.dead_letters) == (9, 1)
    tally.check(9)
    assert tally.sentence().startswith("9 rows: 2 step, ")
    assert [name_of(r) for r in readings][-1] == "unreadable:truncated"


@pytest.mark.parametrize("rows", [8, 10])
def test_a_lost_or_doubled_row_is_found(rows):
    tally = Tally()
    for _ in range(9):
        tally.add(Skipped("blank", Place()))
    with pytest.raises(AssertionError, match="9 readings"):
        tally.check(rows)


def test_an_empty_tally_says_so():
    assert Tally().sentence() == "no rows"
