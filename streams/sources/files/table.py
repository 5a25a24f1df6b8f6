"""CSV bytes to rows: one row per record, its physical lines accounted for, unclosed quotes contained."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from streams.sources.reading import Place, Skipped, Unreadable
from streams.sources.text import Line, decoded, lines

MAX_QUOTED_LINES = 1_000
"""A quote still open after as many lines was never meant to open one."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one record, which is the `number`th of the data."""

    cells: list[str]
    number: int
    raw: bytes
    place: Place


def table(data: bytes, delimiter: str) -> Iterator[Row | Skipped | Unreadable]:
    """Records, with a `Skipped` for each blank and each line that continues a quoted cell. Number 0 is the header."""
    queue: deque[Line] = deque()
    source = lines(data)
    number = 0
    while (line := queue.popleft() if queue else next(source, None)) is not None:
        if not line.raw.strip():
            yield Skipped("blank", line.place)
            continue
        taken = _record_lines(line, queue, source)
        if taken is None:
            yield _open_quote(line)
            number += 1
            continue
        raw = b"\n".join(part.raw for part in taken)
        try:
            cells = next(csv.reader([decoded(raw)], delimiter=delimiter, strict=True))
        except (csv.Error, StopIteration) as wrong:
            cells = []
            yield Unreadable("not_csv", f"the line is not CSV ({wrong}): correct it", raw, line.place)
        if cells:
            yield Row(cells, number, raw, line.place)
        number += 1
        yield from (Skipped("continuation", part.place) for part in taken[1:])


def _record_lines(first: Line, queue: deque[Line], source: Iterator[Line]) -> list[Line] | None:
    """The lines of the record that begins here; None, with all but the first put back, if its quote never closes."""
    taken, quotes = [first], first.raw.count(b'"')
    while quotes % 2:
        line = queue.popleft() if queue else next(source, None)
        if line is None or len(taken) >= MAX_QUOTED_LINES:
            queue.extendleft(reversed([*taken[1:], *([line] if line is not None else [])]))
            return None
        taken.append(line)
        quotes += line.raw.count(b'"')
    return taken


def _open_quote(line: Line) -> Unreadable:
    return Unreadable(
        "quote_not_closed",
        "a quote opens in this line and does not close: the file is cut short there, or the quote belongs to the text "
        "and must be doubled",
        line.raw,
        line.place,
    )
