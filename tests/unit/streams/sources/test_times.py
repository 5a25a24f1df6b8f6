"""Instants and durations as schedulers write them."""

from datetime import UTC

import pytest

from streams.sources.times import duration_s, instant_s, short_duration_s, zone


@pytest.mark.parametrize(
    ("text", "tz", "second"),
    [
        ("1970-01-02T00:00:01", "UTC", 86_401),
        ("2026-11-30T20:14:23", "UTC", 1_796_069_663),
        ("2026-11-30 20:14:23", "UTC", 1_796_069_663),
        ("2026-11-30T20:14:23", "Europe/Oslo", 1_796_069_663 - 3_600),
        ("2026-07-01T12:00:00", "Europe/Oslo", 1_782_900_000),
        ("2025-05-03T08:59:11+02:00", "UTC", 1_746_255_551),
        ("2025-05-03T08:59:11+02:00", "Europe/Oslo", 1_746_255_551),
        ("1796069663", "Europe/Oslo", 1_796_069_663),
        ("2026-11-30T20:14:23.999", "UTC", 1_796_069_663),
        ("1969-12-31T23:59:59", "UTC", -1),
        ("2026-10-25T02:30:00", "Europe/Oslo", 1_792_888_200),
        ("Unknown", "UTC", None),
        ("None", "UTC", None),
        ("", "UTC", None),
        ("N/A", "UTC", None),
        ("0", "UTC", None),
        ("4294967294", "UTC", None),
    ],
)
def test_an_instant(text, tz, second):
    assert instant_s(text, zone(tz)) == second


@pytest.mark.parametrize("text", ["yesterday", "30/11/2026", "2026-13-01T00:00:00", "20:14"])
def test_what_is_no_instant(text):
    with pytest.raises(ValueError, match=r".+"):
        instant_s(text, UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:03", 3),
        ("1-00:15:56", 87_356),
        ("10-13:27:06", 912_426),
        ("05:07", 307),
        ("00:23.779", 23),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_a_duration(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7_200), ("90m", 5_400), ("45", 45), ("1.5d", 129_600), ("1w", 604_800), ("02:00:00", 7_200), ("0s", 0)],
)
def test_a_duration_as_people_write_it(text, seconds):
    assert short_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["2 hours", "soon", "-1h", ""])
def test_a_duration_nobody_writes(text):
    with pytest.raises(ValueError, match="duration"):
        short_duration_s(text)
