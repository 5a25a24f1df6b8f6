"""Slurm's reservations for maintenance (flag MAINT), out of `scontrol show reservation -o` or slurmrestd's. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from streams.sources.slurm.json_values import Fields
from streams.sources.slurm.nodelist import ListWrong, expand
from streams.sources.slurm.scontrol_text import fields_of
from streams.sources.text import decoded, visible
from streams.sources.times import instant_s

MAINT: Final = "MAINT"
NONE: Final = "No reservations in the system"


class AnswerWrong(ValueError):
    """An answer that is no list of reservations; the message says why."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The nodes of a reservation for maintenance, over [since_s, until_s)."""

    nodes: tuple[str, ...]
    since_s: int
    until_s: int


def from_text(data: bytes) -> dict[str, Reserved]:
    """By name, those of a text with one in each line; its instants are in UTC. Raises AnswerWrong."""
    lines = [line for line in decoded(data).splitlines() if line.strip()]
    if lines == [NONE]:
        return {}
    if not lines or any(not line.startswith("ReservationName=") for line in lines):
        raise AnswerWrong("it is no list of reservations")
    return dict(_kept(fields_of(line) for line in lines))


def from_json(data: bytes) -> dict[str, Reserved]:
    """By name, those of slurmrestd's answer. Raises AnswerWrong."""
    try:
        answer = Fields.of(json.loads(decoded(data)))
    except ValueError as wrong:
        raise AnswerWrong(f"it is not JSON ({wrong})") from wrong
    if answer.array("errors") or "reservations" not in answer.members:
        raise AnswerWrong("it is an error, or no list of reservations")
    rows = (Fields.of(row) for row in answer.array("reservations"))
    return dict(
        _kept(
            {
                "ReservationName": row.text("name"),
                "Nodes": row.text("node_list"),
                "Flags": ",".join(row.words("flags")),
                "StartTime": str(row.instant("start_time") or 0),
                "EndTime": str(row.instant("end_time") or 0),
            }
            for row in rows
        )
    )


def _kept(rows: Iterator[Mapping[str, str]]) -> Iterator[tuple[str, Reserved]]:
    """Those for maintenance that name nodes, a beginning, and an end after it."""
    for row in rows:
        if MAINT not in row.get("Flags", "").split(","):
            continue
        try:
            nodes = tuple(map(visible, expand(row.get("Nodes", ""))))
            since_s, until_s = (instant_s(row.get(key, ""), UTC) for key in ("StartTime", "EndTime"))
        except (ListWrong, ValueError) as wrong:
            raise AnswerWrong(f"{row.get('ReservationName', '')}: {wrong}") from wrong
        if nodes and since_s is not None and until_s is not None and since_s < until_s:
            yield visible(row["ReservationName"]), Reserved(nodes, since_s, until_s)
