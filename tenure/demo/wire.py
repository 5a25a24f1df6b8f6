"""A statement on its way into the log, and its bytes: one CloudEvents JSON line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ledger.units import DAY_S, instant

SLURM: Final = "demo/slurm"
ACCOUNTING: Final = "demo/sacct"
NODES: Final = "demo/nodes"
GPUS: Final = "demo/dcgm"
PEOPLE: Final = "demo/people"
CLOCK: Final = "demo/clock"

Fields = dict[str, object]
ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Statement:
    """What a source says of `at_s`; it reaches the log after `lag_s`, or after what chance decides if None."""

    at_s: int
    type: str
    source: str
    id: str
    subject: str
    data: Fields
    lag_s: int | None = None


@lru_cache(maxsize=128)
def _day(day_s: int) -> str:
    return f"{instant(day_s):%Y-%m-%d}"


def iso(second: int) -> str:
    """RFC 3339 in UTC of an epoch second."""
    of_day_s = second % DAY_S
    hours, minutes = divmod(of_day_s // 60, 60)
    return f"{_day(second - of_day_s)}T{hours:02}:{minutes:02}:{of_day_s % 60:02}Z"


def iso_ms(milliseconds: int) -> str:
    """RFC 3339 in UTC of epoch milliseconds."""
    second, rest = divmod(milliseconds, 1_000)
    return f"{iso(second)[:-1]}.{rest:03}Z" if rest else iso(second)


def line(statement: Statement, recorded_ms: int) -> bytes:
    """The bytes of `statement` as appended at `recorded_ms`, without a line end."""
    return ENCODER.encode(
        {
            "specversion": "1.0",
            "id": statement.id,
            "source": statement.source,
            "type": f"tenure.{statement.type}.v1",
            "time": iso(statement.at_s),
            "subject": statement.subject,
            "recordedtime": iso_ms(recorded_ms),
            "data": statement.data,
        }
    ).encode()
