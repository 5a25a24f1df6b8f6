"""Amounts, times and names as people read them. Pure."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final

from ledger.ranking import Ratio
from ledger.units import DAY_S, GPU_HOUR_MS, GPU_MILLI, HOUR_S, instant

MINUTE_S: Final = 60
NONE: Final = "–"


def gpu_hours(amount_gpu_ms: int) -> str:
    """GPU-hours: three figures at least, thousands apart; 0 only for nothing at all."""
    if not amount_gpu_ms:
        return "0"
    hours = amount_gpu_ms / GPU_HOUR_MS
    size = abs(hours)
    if size >= 1_000:  # noqa: PLR2004 -- from here on the decimals are noise
        return f"{hours:,.0f}"
    if size >= 10:  # noqa: PLR2004
        return f"{hours:,.1f}"
    return f"{hours:.2f}" if size >= 0.01 else ("<0.01" if hours > 0 else ">-0.01")  # noqa: PLR2004


def signed_gpu_hours(amount_gpu_ms: int) -> str:
    """GPU-hours gained or lost."""
    return f"+{gpu_hours(amount_gpu_ms)}" if amount_gpu_ms > 0 else gpu_hours(amount_gpu_ms)


def gpus(milli: int) -> str:
    """GPUs, with decimals only for parts of one."""
    return f"{milli // GPU_MILLI:,}" if milli % GPU_MILLI == 0 else f"{milli / GPU_MILLI:,.3f}"


def of_gpus(milli: int) -> str:
    """`1 GPU`, `8 GPUs`."""
    return f"{gpus(milli)} {'GPU' if milli == GPU_MILLI else 'GPUs'}"


def ratio(value: Ratio | None) -> str:
    """ρ to three decimals, ∞ for use without a claim."""
    if value is None:
        return NONE
    shown = value.display()
    return "∞" if shown == float("inf") else f"{shown:.3f}"


def percent(part: int, whole: int) -> str:
    """Part of a whole, to one decimal; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else NONE


def count(number: int) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


def moment(second: int | None) -> str:
    """An instant to the minute, UTC."""
    return NONE if second is None else f"{instant(second):%Y-%m-%d %H:%M}"


def second(at_s: int) -> str:
    """An instant to the second, UTC."""
    return f"{instant(at_s):%Y-%m-%d %H:%M:%S}"


def when(at: datetime | None) -> str:
    """An instant to the minute, UTC."""
    return NONE if at is None else f"{at:%Y-%m-%d %H:%M}"


def to_second(at: datetime | None) -> str:
    """An instant to the second, UTC."""
    return NONE if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def duration(seconds: int | None) -> str:
    """A length in its two largest units: 3 d 4 h, 2 h 5 min, 40 s."""
    if seconds is None:
        return NONE
    if seconds < 0:
        return f"-{duration(-seconds)}"
    for size_s, name, part_s, part in ((DAY_S, "d", HOUR_S, "h"), (HOUR_S, "h", MINUTE_S, "min")):
        if seconds >= size_s:
            whole, rest = divmod(seconds, size_s)
            return f"{whole} {name} {rest // part_s} {part}" if rest // part_s else f"{whole} {name}"
    if seconds >= MINUTE_S:
        return f"{seconds // MINUTE_S} min"
    return f"{seconds} s"


def decimal(value: Decimal) -> str:
    """An exact decimal without the zeros at its end."""
    return f"{value.normalize():f}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def bytes_(number: int) -> str:
    """A size in binary units."""
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1_024:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_024
    return f"{size:.1f} TiB"


def below_root(account: str) -> str:
    """A path without its root, which is the same for all; the root itself and a bare name as they are."""
    return account.partition("/")[2] or account or NONE
