from datetime import UTC, datetime, timedelta, timezone

import pytest

from ledger.units import (
    DAY_S,
    FOREVER_S,
    GPU_HOUR_MS,
    epoch_s,
    epoch_us,
    gpu_hours,
    hour_ceil_s,
    hour_floor_s,
    instant,
)


@pytest.mark.parametrize(
    ("at", "second", "microsecond"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0, 0),
        (datetime(1970, 1, 2, 0, 0, 1, 999_999, tzinfo=UTC), DAY_S + 1, (DAY_S + 1) * 1_000_000 + 999_999),
        (datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC), -1, -999_999),  # toward the past, never toward zero
        (datetime(2026, 3, 2, 9, tzinfo=timezone(timedelta(hours=1))), 1_772_438_400, 1_772_438_400_000_000),
    ],
)
def test_an_instant_is_cut_to_the_second_it_lies_in(at: datetime, second: int, microsecond: int):
    assert (epoch_s(at), epoch_us(at)) == (second, microsecond)


def test_a_second_is_an_aware_utc_instant():
    assert instant(1_772_438_400) == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert epoch_s(instant(-1)) == -1


@pytest.mark.parametrize(("second", "floor", "ceil"), [(3600, 3600, 3600), (3601, 3600, 7200), (-1, -3600, 0)])
def test_the_hour_around_a_second(second: int, floor: int, ceil: int):
    assert (hour_floor_s(second), hour_ceil_s(second)) == (floor, ceil)


def test_a_gpu_hour():
    assert GPU_HOUR_MS == 3_600_000
    assert gpu_hours(5_400_000) == 1.5


def test_forever_is_after_every_year_and_fits_a_column():
    assert epoch_s(datetime(9999, 12, 31, tzinfo=UTC)) < FOREVER_S < 1 << 62
