"""Instants and durations as schedulers write them, to whole epoch seconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from ledger.units import DAY_S, epoch_s

NO_INSTANT: Final = frozenset({"", "Unknown", "None", "N/A", "NONE", "(null)", "0", "4294967294", "4294967295"})
"""How Slurm writes an instant it does not know: text, zero, NO_VAL and INFINITE."""
_NAIVE_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  (for differences of two naive instants in UTC)
_NO_VALS: Final = frozenset({0, 4_294_967_294, 4_294_967_295})

_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)?", re.IGNORECASE)
_SHORT_UNIT_S: Final = {"s": 1, "m": 60, "h": 3_600, "d": DAY_S, "w": 7 * DAY_S}


@lru_cache(maxsize=32)
def zone(name: str) -> tzinfo:
    """The zone of that name; KeyError (ZoneInfoNotFoundError) or ValueError for one that does not exist."""
    return UTC if name.upper() in {"UTC", "Z", "GMT"} else ZoneInfo(name)


@lru_cache(maxsize=1 << 16)
def instant_s(text: str, tz: tzinfo) -> int | None:
    """Epoch seconds of an ISO instant, of `YYYY-MM-DD HH:MM:SS` or of a number; None where none is known.

    Without an offset it is in `tz`; an hour that its clocks show twice is the first one. Raises ValueError.
    """
    if text in NO_INSTANT:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return epoch_s(moment)
    if tz is UTC:
        since = moment - _NAIVE_EPOCH
        return since.days * DAY_S + since.seconds
    return epoch_s(moment.replace(tzinfo=tz))


def number_s(value: int) -> int | None:
    """Epoch seconds of a number, None for the values that stand for no instant."""
    return None if value in _NO_VALS else value


@lru_cache(maxsize=1 << 14)
def duration_s(text: str) -> int | None:
    """Seconds of `[D-]HH:MM:SS`, `MM:SS` or `MM:SS.mmm`; None for no limit or none known. Raises ValueError."""
    if text in NO_INSTANT or text in {"UNLIMITED", "Partition_Limit", "INVALID", "NOT_SET"}:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration like 1-02:03:04")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * DAY_S + hours * 3_600 + minutes * 60 + seconds


def short_duration_s(text: str) -> int:
    """Seconds of `2h`, `90m`, `1.5d` or a bare number of seconds, as people write them. Raises ValueError."""
    match = _SHORT.fullmatch(text.strip())
    if match is None:
        clock = duration_s(text.strip())
        if clock is None:
            raise ValueError(f"{text!r} is not a duration: write 90m, 2h or 1d")
        return clock
    number, unit = match.groups()
    return int(timedelta(seconds=float(number) * _SHORT_UNIT_S[(unit or "s").lower()]).total_seconds())
