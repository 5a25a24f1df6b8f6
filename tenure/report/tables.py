"""Sections of a pack as plain tables: exact cells, and how each column is to be read. Renderers need no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["text", "pool", "count", "milli", "gpu_ms", "seconds", "instant", "part", "ratio"]
"""`part` is a part of a whole, shown as percent; `ratio` may be over 1 and is shown as a number, ∞ over nothing."""

Audience = Literal["both", "people", "programs"]


class Part(NamedTuple):
    """An exact quotient: numerator and denominator in one unit; over 0 it says nothing, or ∞ where it is a ratio."""

    numerator: int
    denominator: int


Cell = str | int | Part | None
"""Amounts in GPU-milliseconds, instants in epoch seconds, None for what does not apply or is not known."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `key` for programs ends in its unit, `title` is for people."""

    key: str
    title: str
    kind: Kind
    audience: Audience = "both"


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its name, a sentence or more on how to read it, and what to say where it has no rows.

    `apart`: people get a table per pool.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    empty: str = "Nothing."
    apart: bool = False

    def records(self) -> list[dict[str, Cell]]:
        """Each row under its columns' keys."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


def section(
    name: str,
    title: str,
    columns: tuple[Column, ...],
    rows: list[tuple[Cell, ...]],
    *,
    notes: tuple[str, ...] = (),
    empty: str = "Nothing.",
    apart: bool = False,
) -> Section:
    """A section whose rows have a cell per column."""
    assert all(len(row) == len(columns) for row in rows), f"every row of {name} has a cell per column"
    return Section(name, title, columns, tuple(rows), notes, empty, apart)


POOL = Column("pool", "pool", "pool")
