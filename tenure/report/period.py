"""Periods as people write them: months, days and the last so many hours, in a zone of whole hours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ledger.metrics.calendar import first_off_the_hour, local_midnight_s
from ledger.units import DAY_S, HOUR_S, epoch_s, instant

PeriodRefusal = Literal[
    "unknown_zone",
    "zone_off_the_hour",
    "unreadable_instant",
    "unreadable_month",
    "unreadable_length",
    "not_whole_hours",
    "empty_period",
    "two_periods",
    "nothing_closed",
    "unanswerable",
]
"""Why a period cannot be read, by name."""

LENGTH: Final = re.compile(r"(?P<number>[1-9]\d{0,4})(?P<unit>[hdw])")
UNIT_S: Final = {"h": HOUR_S, "d": DAY_S, "w": 7 * DAY_S}
MONTH: Final = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})")
LATEST_S: Final = (1 << 32) - 2
"""As good as the last instant the store can hold: known at it is everything."""


class PeriodRefused(ValueError):
    """The words name no period; `name` says why, as the metrics name it, the message what to write instead."""

    def __init__(self, name: PeriodRefusal, sentence: str) -> None:
        super().__init__(f"{name}: {sentence}")
        self.name: Final = name


@dataclass(frozen=True, slots=True)
class Period:
    """[from_s, until_s) in epoch seconds, whole hours, as seen in `zone`."""

    from_s: int
    until_s: int
    zone: ZoneInfo

    @property
    def hours(self) -> int:
        """Hours in the period: 743 and 745 in the months that clocks change in Berlin."""
        return (self.until_s - self.from_s) // HOUR_S


@dataclass(frozen=True, slots=True)
class Asked:
    """A period as written: from `since`, or `last` so long, to `until`; or a `month`; or nothing for seven days."""

    since: str | None = None
    until: str | None = None
    last: str | None = None
    month: str | None = None


def zone_named(name: str) -> ZoneInfo:
    """The time zone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as wrong:
        raise PeriodRefused("unknown_zone", f"there is no time zone {name!r}: write one like Europe/Berlin") from wrong


def instant_of(text: str, zone: ZoneInfo) -> int:
    """The epoch second of `2026-03-01`, `2026-03-01T14:00` or one with an offset; without one it is the zone's."""
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError as wrong:
        raise PeriodRefused(
            "unreadable_instant", f"{text!r} is no instant: write 2026-03-01, 2026-03-01T14:00 or 2026-03-01T13:00Z"
        ) from wrong
    return epoch_s(read if read.tzinfo else read.replace(tzinfo=zone))


def period(asked: Asked, zone: ZoneInfo, closed_until_s: int) -> Period:
    """The period that was asked for; without an end it ends with the last closed hour.

    Raises PeriodRefused, also for a zone that is off the whole hour anywhere in the period.
    """
    from_s, until_s = _span(asked, zone, closed_until_s)
    if until_s <= from_s:
        raise PeriodRefused(
            "empty_period", f"the period ends ({shown(until_s, zone)}) before it begins ({shown(from_s, zone)})"
        )
    if from_s < 0 or until_s > LATEST_S:
        raise PeriodRefused("empty_period", "the period must lie after 1970 and before 2106")
    _check_zone(zone, from_s, until_s)
    for at_s in (from_s, until_s):
        if at_s % HOUR_S:
            raise PeriodRefused(
                "not_whole_hours", f"the book counts whole hours, and {shown(at_s, zone)} is inside one: round it"
            )
    return Period(from_s, until_s, zone)


def _span(asked: Asked, zone: ZoneInfo, closed_until_s: int) -> tuple[int, int]:
    if sum(given is not None for given in (asked.since, asked.last, asked.month)) > 1 or (asked.month and asked.until):
        raise PeriodRefused("two_periods", "name one period: --from and --to, or --last, or --month")
    if asked.month is not None:
        return _month(asked.month, zone)
    until_s = closed_until_s if asked.until is None else instant_of(asked.until, zone)
    if asked.since is not None:
        return instant_of(asked.since, zone), until_s
    return until_s - _length_s(asked.last or "7d"), until_s


def _month(text: str, zone: ZoneInfo) -> tuple[int, int]:
    match = MONTH.fullmatch(text.strip())
    number = int(match["month"]) if match else 0
    if match is None or not 1 <= number <= 12:  # noqa: PLR2004 -- months
        raise PeriodRefused("unreadable_month", f"{text!r} is no month: write one like 2026-03")
    year = max(1, min(int(match["year"]), 9_998))
    first, after = date(year, number, 1), date(year + number // 12, number % 12 + 1, 1)
    return local_midnight_s(first, zone), local_midnight_s(after, zone)


def _length_s(text: str) -> int:
    match = LENGTH.fullmatch(text.strip())
    if match is None:
        raise PeriodRefused("unreadable_length", f"{text!r} is no length of time: write one like 24h, 7d or 2w")
    return int(match["number"]) * UNIT_S[match["unit"]]


def _check_zone(zone: ZoneInfo, from_s: int, until_s: int) -> None:
    off_s = first_off_the_hour(zone, from_s, until_s)
    if off_s is not None:
        raise PeriodRefused(
            "zone_off_the_hour",
            f"{zone.key} is {_offset(off_s, zone)} from UTC, and the book counts whole UTC hours: "
            "take a zone that is off by whole hours, or UTC",
        )


def _offset(at_s: int, zone: ZoneInfo) -> str:
    offset = instant(at_s).astimezone(zone).utcoffset()
    assert offset is not None, "an aware instant has an offset"
    sign, minutes = "-" if offset < timedelta() else "+", abs(offset) // timedelta(minutes=1)
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}"


def shown(at_s: int, zone: ZoneInfo) -> str:
    """An instant as people read it, with its offset."""
    at = instant(at_s).astimezone(zone)
    text = f"{at:%Y-%m-%d %H:%M}" + (f":{at:%S}" if at.second else "")
    return f"{text} {'UTC' if zone.key == 'UTC' else _offset(at_s, zone)}"


def iso(at_s: int) -> str:
    """An instant for programs, in UTC."""
    return f"{instant(at_s):%Y-%m-%dT%H:%M:%SZ}"
