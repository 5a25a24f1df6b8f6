"""How many hours of samples a statement sums."""

import pytest

from ledger.store.samples import STATEMENT_ROWS, STATEMENT_S, spans
from ledger.units import HOUR_S

HALF = STATEMENT_ROWS // 2


def in_hours(until: int, rows: dict[int, int]) -> list[tuple[int, int]]:
    found = spans(0, until * HOUR_S, {hour * HOUR_S: number for hour, number in rows.items()})
    return [(begin_s // HOUR_S, end_s // HOUR_S) for begin_s, end_s in found]


def test_without_samples_there_is_nothing_to_sum():
    assert in_hours(9, {}) == []
    assert in_hours(0, {-1: 5}) == []


def test_hours_without_samples_are_summed_along_for_what_earlier_ones_say_of_them():
    assert in_hours(9, {-1: 5}) == [(0, 9)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({0: HALF, 1: HALF, 2: 1}, [(0, 2), (2, 4)]),
        ({0: HALF, 1: HALF + 1}, [(0, 1), (1, 4)]),
        ({1: 9 * HALF, 2: 9 * HALF}, [(0, 1), (1, 2), (2, 3), (3, 4)]),
    ],
)
def test_a_statement_takes_whole_hours_up_to_its_rows(rows: dict[int, int], expected: list[tuple[int, int]]):
    assert in_hours(4, rows) == expected


def test_a_statement_spans_a_week_at_most():
    week = STATEMENT_S // HOUR_S
    assert in_hours(2 * week + 1, {0: 1}) == [(0, week), (week, 2 * week), (2 * week, 2 * week + 1)]
