"""Units: integer milli-GPUs, whole UTC seconds, and their product, GPU-milliseconds.

One milli-GPU for one second is exactly one GPU-millisecond, so amounts never need rounding.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

GPU_MILLI: Final = 1_000
"""milli-GPUs in one GPU."""

HOUR_S: Final = 3_600
DAY_S: Final = 24 * HOUR_S
GPU_HOUR_MS: Final = GPU_MILLI * HOUR_S
"""GPU-milliseconds in one GPU-hour (3,600,000)."""

FOREVER_S: Final = 1 << 40
"""An instant after every other: the end of what has not ended. Never stored, never multiplied."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_s(instant: datetime) -> int:
    """Whole seconds since 1970 UTC, truncated toward the past; `instant` must be aware."""
    delta = instant - _EPOCH
    return delta.days * DAY_S + delta.seconds


def epoch_us(instant: datetime) -> int:
    """Microseconds since 1970 UTC; `instant` must be aware."""
    delta = instant - _EPOCH
    return (delta.days * DAY_S + delta.seconds) * 1_000_000 + delta.microseconds


def epoch_ms(instant: datetime) -> int:
    """Whole milliseconds since 1970 UTC; `instant` must be aware."""
    return epoch_us(instant) // 1_000


def instant_ms(millisecond: int) -> datetime:
    """The aware UTC datetime of an epoch millisecond."""
    return _EPOCH + timedelta(milliseconds=millisecond)


def instant(second: int) -> datetime:
    """The aware UTC datetime of an epoch second."""
    return datetime.fromtimestamp(second, tz=UTC)


def hour_floor_s(second: int) -> int:
    """Start of the UTC hour that holds `second`."""
    return second - second % HOUR_S


def hour_ceil_s(second: int) -> int:
    """First UTC hour boundary at or after `second`."""
    return second + -second % HOUR_S


def gpu_hours(amount_gpu_ms: int) -> float:
    """GPU-hours for display only."""
    return amount_gpu_ms / GPU_HOUR_MS
