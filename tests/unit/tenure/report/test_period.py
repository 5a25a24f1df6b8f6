"""Periods as people write them."""

from zoneinfo import ZoneInfo

import pytest

from ledger.units import DAY_S, HOUR_S
from tenure.report.period import Asked, PeriodRefused, instant_of, iso, period, shown, zone_named

UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
CLOSED_S = 1_790_812_800
"""2026-10-01T00:00:00Z."""


@pytest.mark.parametrize(
    ("month", "zone", "hours"),
    [
        ("2026-03", "Europe/Berlin", 743),
        ("2026-10", "Europe/Berlin", 745),
        ("2026-03", "UTC", 744),
        ("2026-02", "America/New_York", 672),
        ("2026-03", "America/New_York", 743),
        ("2026-11", "America/New_York", 721),
        ("2026-12", "Pacific/Auckland", 744),
    ],
)
def test_a_month_has_the_hours_its_clocks_show(month: str, zone: str, hours: int):
    assert period(Asked(month=month), ZoneInfo(zone), CLOSED_S).hours == hours


def test_a_month_begins_at_local_midnight():
    march = period(Asked(month="2026-03"), BERLIN, CLOSED_S)
    assert (iso(march.from_s), iso(march.until_s)) == ("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z")


@pytest.mark.parametrize(
    ("asked", "begin", "end"),
    [
        (Asked(), "2026-09-24T00:00:00Z", "2026-10-01T00:00:00Z"),
        (Asked(last="24h"), "2026-09-30T00:00:00Z", "2026-10-01T00:00:00Z"),
        (Asked(last="2w"), "2026-09-17T00:00:00Z", "2026-10-01T00:00:00Z"),
        (Asked(last="1d", until="2026-09-10T00:00Z"), "2026-09-09T00:00:00Z", "2026-09-10T00:00:00Z"),
        (Asked(since="2026-09-01"), "2026-08-31T22:00:00Z", "2026-10-01T00:00:00Z"),
        (Asked("2026-09-01T06:00", "2026-09-01T09:00+04:00"), "2026-09-01T04:00:00Z", "2026-09-01T05:00:00Z"),
    ],
)
def test_a_period_is_in_the_zone_and_ends_with_the_last_closed_hour(asked: Asked, begin: str, end: str):
    found = period(asked, BERLIN, CLOSED_S)
    assert (iso(found.from_s), iso(found.until_s)) == (begin, end)


@pytest.mark.parametrize(
    ("asked", "zone", "name"),
    [
        (Asked(), "Asia/Kolkata", "zone_off_the_hour"),
        (Asked(month="2026-10"), "Australia/Lord_Howe", "zone_off_the_hour"),
        (Asked(month="2026-3"), "UTC", "unreadable_month"),
        (Asked(month="2026-13"), "UTC", "unreadable_month"),
        (Asked(month="1969-12"), "UTC", "empty_period"),
        (Asked(month="9999-12"), "UTC", "empty_period"),
        (Asked(last="7"), "UTC", "unreadable_length"),
        (Asked(last="0d"), "UTC", "unreadable_length"),
        (Asked(last="99999w"), "UTC", "empty_period"),
        (Asked(since="yesterday"), "UTC", "unreadable_instant"),
        (Asked(since="2026-10-02"), "UTC", "empty_period"),
        (Asked(since="2026-09-02T10:30"), "UTC", "not_whole_hours"),
        (Asked(since="2026-09-02", last="7d"), "UTC", "two_periods"),
        (Asked(month="2026-09", until="2026-09-10"), "UTC", "two_periods"),
        (Asked(month="2026-09", last="7d"), "UTC", "two_periods"),
    ],
)
def test_what_names_no_period_is_refused_by_name(asked: Asked, zone: str, name: str):
    with pytest.raises(PeriodRefused) as refused:
        period(asked, ZoneInfo(zone), CLOSED_S)
    assert refused.value.name == name
    assert str(refused.value).startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["Europe/Atlantis", "", "../etc/passwd", "Europe"])
def test_a_zone_that_is_none_is_refused(name: str):
    with pytest.raises(PeriodRefused, match="unknown_zone"):
        zone_named(name)


def test_an_instant_is_shown_with_its_offset():
    at_s = instant_of("2026-03-29T12:00:05Z", UTC)
    assert shown(at_s, UTC) == "2026-03-29 12:00:05 UTC"
    assert shown(at_s - 5, BERLIN) == "2026-03-29 14:00 +02:00"
    assert shown(at_s - 5 - DAY_S + HOUR_S, ZoneInfo("America/St_Johns")) == "2026-03-28 10:30 -02:30"
