"""How amounts and times are written for people."""

from decimal import Decimal

import pytest

from ledger.ranking import Ratio
from ledger.units import GPU_HOUR_MS
from tenure.cli import text


@pytest.mark.parametrize(
    ("hours", "shown"),
    [
        (0, "0"),
        (0.001, "<0.01"),
        (-0.001, ">-0.01"),
        (0.5, "0.50"),
        (9.994, "9.99"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
    ],
)
def test_gpu_hours_have_sensible_decimals(hours: float, shown: str):
    assert text.gpu_hours(round(hours * GPU_HOUR_MS)) == shown


def test_gains_have_a_sign():
    assert [text.signed_gpu_hours(n * GPU_HOUR_MS) for n in (2, 0, -2)] == ["+2.00", "0", "-2.00"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_600, "1 h"),
        (3_660, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (-60, "-1 min"),
    ],
)
def test_durations_have_their_two_largest_units(seconds: int | None, shown: str):
    assert text.duration(seconds) == shown


def test_a_ratio_without_a_claim_is_infinite():
    assert text.ratio(Ratio(1, 0, 0)) == "∞"
    assert text.ratio(Ratio(1, 1, 4)) == "0.500"
    assert text.ratio(None) == "–"


def test_parts_of_a_gpu_are_shown_and_whole_ones_are_whole():
    assert [text.gpus(m) for m in (8_000, 143, 1_024_000)] == ["8", "0.143", "1,024"]
    assert [text.of_gpus(m) for m in (1_000, 8_000)] == ["1 GPU", "8 GPUs"]


def test_small_things():
    assert text.percent(1, 0) == "–"
    assert text.percent(1, 3) == "33.3 %"
    assert text.plural(1, "row") == "1 row"
    assert text.plural(2_000, "row") == "2,000 rows"
    assert text.bytes_(512) == "512 B"
    assert text.bytes_(3 << 30) == "3.0 GiB"
    assert text.decimal(Decimal("40.000000")) == "40"
    assert text.moment(None) == text.when(None) == text.to_second(None) == "–"
    assert text.moment(0) == "1970-01-01 00:00"
    assert [text.below_root(a) for a in ("lab/a/b", "lab", "")] == ["a/b", "lab", "–"]
