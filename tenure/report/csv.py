"""The pack as CSV, one file per section: exact integers, a quotient as two columns, instants in UTC."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tenure.report.pack import Pack
from tenure.report.period import iso
from tenure.report.tables import Cell, Column, Part, Section


def write(pack: Pack, folder: Path) -> list[Path]:
    """Write every section into the folder, made if it is not there; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"header": header(pack)} | {section.name: rendered(section) for section in pack.sections}
    paths = []
    for name, text in files.items():
        path = folder / f"{name}.csv"
        path.write_text(text, "utf-8", newline="")
        paths.append(path)
    return paths


def header(pack: Pack) -> str:
    """The header as names and values."""
    question = pack.header.question
    return _csv(
        ("name", "value"),
        [
            ("cluster", question.cluster),
            ("pools", " ".join(pack.header.pools)),
            ("account", question.account),
            ("from", iso(question.from_s)),
            ("until", iso(question.asked_until_s)),
            ("closed_until", iso(question.until_s)),
            ("hours", str(pack.header.asked_hours)),
            ("closed_hours", str(pack.header.closed_hours)),
            ("zone", question.zone.key),
            ("as_of", iso(question.as_of_s)),
            ("known_at", iso(pack.header.known_at_s)),
            ("ranking", pack.header.ranking),
        ],
    )


def rendered(section: Section) -> str:
    """A section's CSV text, with its header line even where it has no rows."""
    columns = [column for column in section.columns if column.audience != "people"]
    places = [n for n, column in enumerate(section.columns) if column.audience != "people"]
    names = [name for column in columns for name in _names(column)]
    rows = [
        [text for n, column in zip(places, columns, strict=True) for text in _texts(column, row[n])]
        for row in section.rows
    ]
    return _csv(names, rows)


def _names(column: Column) -> tuple[str, ...]:
    if column.kind in {"part", "ratio"}:
        return f"{column.key}_numerator", f"{column.key}_denominator"
    return (column.key,)


def _texts(column: Column, value: Cell) -> tuple[str, ...]:
    if column.kind in {"part", "ratio"}:
        assert value is None or isinstance(value, Part), column.key
        return ("", "") if value is None else (str(value.numerator), str(value.denominator))
    if value is None:
        return ("",)
    if column.kind == "instant":
        assert isinstance(value, int), column.key
        return (iso(value),)
    return (str(value).strip(),)


def _csv(names: tuple[str, ...] | list[str], rows: list[tuple[str, str]] | list[list[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return out.getvalue()


def _safe(cell: str) -> str:
    """Text a spreadsheet would take for a formula is told to be text; numbers stay numbers."""
    if cell[:1] in {"=", "+", "@"} or (cell[:1] == "-" and not cell[1:].isdigit()):
        return f"'{cell}"
    return cell
