"""Periods of a calendar in a time zone, cut without gap or overlap. Pure, given the zone's own rules."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Final, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo

from ledger.units import HOUR_S, epoch_s, instant

Every = Literal["total", "hour", "day", "week", "month"]
EVERY: Final[tuple[Every, ...]] = get_args(Every)


class Bucket(NamedTuple):
    """A stretch [from, until) of UTC epoch seconds."""

    from_s: int
    until_s: int


def zone_named(name: str) -> tzinfo | None:
    """The time zone of an IANA name; None for one that does not exist."""
    if name.upper() in {"UTC", "Z", "GMT"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such file, a path out of the database, a folder of it
        return None


def first_off_the_hour(zone: tzinfo, from_s: int, until_s: int) -> int | None:
    """The first UTC hour of [from, until) at which the zone's clocks do not show a whole hour, if any."""
    if zone is UTC:
        return None
    for at_s in range(from_s - from_s % HOUR_S, until_s, HOUR_S):
        offset = instant(at_s).astimezone(zone).utcoffset()
        if offset is not None and offset % timedelta(hours=1):
            return at_s
    return None


def local_midnight_s(day: date, zone: tzinfo) -> int:
    """The instant at which a day begins in a zone.

    Where clocks skip midnight that is the instant of the change, where they show it twice the first of the two.
    """
    return epoch_s(datetime(day.year, day.month, day.day, tzinfo=zone))


def buckets(from_s: int, until_s: int, every: Every, zone: tzinfo) -> list[Bucket]:
    """[from, until) cut where hours, days, weeks (from Monday) or months begin in the zone, in order."""
    cuts = [from_s, *_edges(from_s, until_s, every, zone), until_s]
    return [Bucket(a, b) for a, b in pairwise(cuts)]


def _edges(from_s: int, until_s: int, every: Every, zone: tzinfo) -> Iterator[int]:
    """The edges strictly inside (from, until), ascending."""
    if every == "total":
        return
    if every == "hour":
        offset = instant(from_s).astimezone(zone).utcoffset() or timedelta()
        local_s = from_s + int(offset.total_seconds())
        yield from range(from_s + HOUR_S - local_s % HOUR_S, until_s, HOUR_S)
        return
    day = _start(instant(from_s).astimezone(zone).date(), every)
    while (edge_s := local_midnight_s(day, zone)) < until_s:
        if edge_s > from_s:
            yield edge_s
        day = _next(day, every)


def _start(day: date, every: Every) -> date:
    if every == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if every == "week" else day


def _next(day: date, every: Every) -> date:
    if every == "month":
        return day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1)
    return day + timedelta(days=7 if every == "week" else 1)


def label(bucket: Bucket, every: Every, zone: tzinfo) -> str:
    """What people call the bucket: 2026-03, 2026-W10, 2026-03-29, 2026-03-29T02:00+02:00, or both ends of a total."""
    begin = instant(bucket.from_s).astimezone(zone)
    if every == "month":
        return f"{begin:%Y-%m}"
    if every == "week":
        year, week, _ = begin.isocalendar()
        return f"{year}-W{week:02}"
    if every == "day":
        return f"{begin:%Y-%m-%d}"
    if every == "hour":
        return begin.isoformat(timespec="minutes")
    until = instant(bucket.until_s).astimezone(zone)
    return f"{begin.isoformat(timespec='minutes')}/{until.isoformat(timespec='minutes')}"
