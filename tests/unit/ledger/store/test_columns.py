"""From rows to columns."""

from typing import get_type_hints

import pytest

from ledger.archive import ArchivedEvent
from ledger.rows import TABLES, Job, Posting, Row
from ledger.store.columns import COLUMN_NAMES, INSTANTS, LAST_INSTANT_S, LAST_US, column_names, columns_of
from tests.contract.store.rows import event, make

DURATIONS = {"min_runtime_s", "suspended_s", "running_s", "waited_s", "grace_s", "hold_s"}


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.values())
def test_a_field_in_seconds_is_an_instant_or_a_known_duration(row_type: type[Row]):
    seconds = {name for name in row_type._fields if name.endswith("_s")}
    assert seconds <= INSTANTS | DURATIONS
    assert all(get_type_hints(row_type)[name] in (int, int | None) for name in seconds)


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.values())
def test_no_two_fields_share_a_column_and_no_instant_keeps_its_unit(row_type: type[Row]):
    names = column_names(row_type)
    assert len(set(names)) == len(names)
    assert {name for name in names if name.endswith("_s")} <= DURATIONS


def test_rows_become_columns_in_order():
    rows = [make(Posting, seq=seq, amount_gpu_ms=-seq) for seq in range(3)]
    columns = columns_of(Posting, rows)
    assert list(columns) == list(column_names(Posting))
    assert (columns["seq"], columns["amount_gpu_ms"]) == ([0, 1, 2], [0, -1, -2])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (0, 0),
        (-1, 0),
        (LAST_INSTANT_S, LAST_INSTANT_S),
        (LAST_INSTANT_S + 1, LAST_INSTANT_S),
        (1 << 40, LAST_INSTANT_S),
        (None, None),
    ],
)
def test_an_instant_out_of_range_becomes_the_nearest_in_it(given: int | None, kept: int | None):
    rows = [make(Job, eligible_from_s=given), make(Job, eligible_from_s=5)]
    assert columns_of(Job, rows)["eligible_from"] == [kept, 5]


def test_microseconds_have_a_range_of_their_own():
    rows = [event(0, occurred_us=1 << 62), event(1, occurred_us=None), event(2, occurred_us=-(1 << 40))]
    assert columns_of(ArchivedEvent, rows)["occurred_at"] == [LAST_US, None, -(1 << 40)]


def test_a_duration_is_not_clamped():
    assert columns_of(Job, [make(Job, waited_s=1 << 33)])["waited_s"] == [1 << 33]
    assert "min_runtime_s" not in COLUMN_NAMES
