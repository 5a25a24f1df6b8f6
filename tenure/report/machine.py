"""The pack as one JSON object: exact integers, quotients as both of their terms, instants in UTC."""

from __future__ import annotations

from tenure.report.pack import MEANINGS, Pack
from tenure.report.period import iso
from tenure.report.tables import Cell, Column, Part, Section


def report(pack: Pack) -> dict[str, object]:
    """The pack as plain values."""
    header, question = pack.header, pack.header.question
    return {
        "cluster": question.cluster,
        "pools": list(header.pools),
        "account": question.account or None,
        "from": iso(question.from_s),
        "until": iso(question.asked_until_s),
        "closed_until": iso(question.until_s),
        "hours": header.asked_hours,
        "closed_hours": header.closed_hours,
        "zone": question.zone.key,
        "as_of": iso(question.as_of_s),
        "known_at": iso(header.known_at_s),
        "ranking": header.ranking,
        "meanings": dict(MEANINGS),
        "sections": {section.name: _section(section) for section in pack.sections},
    }


def _section(section: Section) -> dict[str, object]:
    columns = [(n, column) for n, column in enumerate(section.columns) if column.audience != "people"]
    return {
        "title": section.title,
        "notes": list(section.notes),
        "rows": [{column.key: _value(column, row[n]) for n, column in columns} for row in section.rows],
    }


def _value(column: Column, value: Cell) -> object:
    match value:
        case Part(numerator, denominator):
            shown = numerator / denominator if denominator else None
            return {"numerator": numerator, "denominator": denominator, "value": shown}
        case int() if column.kind == "instant":
            return iso(value)
        case str():
            return value.strip()
        case _:
            return value
