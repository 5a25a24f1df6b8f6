"""From rows to columns: what a field of a row type is called in its table, and how instants are stored.

A field that is an instant loses its `_s` in SQL, where the type says what it is; a duration keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple, cast

from ledger.rows import Row

COLUMN_NAMES: Final = {
    "class_": "class",
    "hour_s": "hour",
    "until_s": "until",
    "since_s": "since",
    "idle_since_s": "idle_since",
    "contract_end_s": "contract_end",
    "eligible_from_s": "eligible_from",
    "closed_until_s": "closed_until",
    "recorded_s": "recorded_at",
    "submitted_s": "submitted_at",
    "eligible_s": "eligible_at",
    "started_s": "started_at",
    "ended_s": "ended_at",
    "checkpointed_s": "checkpointed_at",
    "effective_s": "effective_at",
    "occurred_s": "occurred_at",
    "ticked_s": "ticked_at",
    "planned_s": "planned_at",
    "committed_s": "committed_at",
    "held_s": "held_at",
    "held_until_s": "held_until",
    "expired_s": "expired_at",
    "issued_s": "issued_at",
    "settled_s": "settled_at",
    "at_s": "at",
    "occurred_us": "occurred_at",
    "recorded_us": "recorded_at",
}
"""Fields whose column has another name."""

INSTANTS: Final = COLUMN_NAMES.keys() - {"class_"}
"""Fields that are an instant: epoch seconds, or microseconds where the name ends so."""

LAST_INSTANT_S: Final = (1 << 32) - 1
"""The last second a DateTime holds, in 2106."""

FIRST_US: Final = -2_208_988_800 * 1_000_000
LAST_US: Final = 10_413_791_999 * 1_000_000
"""What a DateTime64(6) holds: the years 1900 to 2299."""


def column_name(field: str) -> str:
    """The column that stores a row's field."""
    return COLUMN_NAMES.get(field, field)


def column_names(row_type: type[Row]) -> tuple[str, ...]:
    """The columns of a row type, without `generation`."""
    return tuple(column_name(field) for field in row_type._fields)


def columns_of(row_type: type[NamedTuple], rows: Sequence[NamedTuple]) -> dict[str, Sequence[object]]:
    """The rows, column by column. An instant out of the column's range becomes the nearest in it."""
    columns: dict[str, Sequence[object]] = {}
    for place, field in enumerate(row_type._fields):
        values: list[object] = list(map(itemgetter(place), rows))
        columns[column_name(field)] = _clamped(field, values) if field in INSTANTS else values
    return columns


def _clamped(field: str, values: list[object]) -> list[object]:
    """Instants as the column can hold them: a job eligible from the year 9999 must not stop the writer."""
    low, high = (FIRST_US, LAST_US) if field.endswith("_us") else (0, LAST_INSTANT_S)
    known = cast("list[int]", values if None not in values else [value for value in values if value is not None])
    if not known or (low <= min(known) and max(known) <= high):
        return values
    return [min(max(value, low), high) if isinstance(value, int) else value for value in values]
