"""Amounts, quotients and lengths as people read them. Pure.

As `tenure.cli.text` has them, which this package must not import: the command line imports this package.
"""

from __future__ import annotations

from typing import Final

from ledger.units import DAY_S, GPU_HOUR_MS, GPU_MILLI, HOUR_S
from tenure.report.tables import Part

MINUTE_S: Final = 60
NONE: Final = "–"
MANY: Final = 1_000
SOME: Final = 10
LEAST: Final = 0.01
LEAST_PERCENT: Final = 0.05
MOST_PERCENT: Final = 99.95


def gpu_hours(amount_gpu_ms: int) -> str:
    """GPU-hours: three figures at least, thousands apart; 0 only for nothing at all."""
    if not amount_gpu_ms:
        return "0"
    hours = amount_gpu_ms / GPU_HOUR_MS
    size = abs(hours)
    if size >= MANY:
        return f"{hours:,.0f}"
    if size >= SOME:
        return f"{hours:,.1f}"
    return f"{hours:.2f}" if size >= LEAST else ("<0.01" if hours > 0 else ">-0.01")


def gpus(milli: int) -> str:
    """GPUs, with decimals only for parts of one."""
    return f"{milli // GPU_MILLI:,}" if milli % GPU_MILLI == 0 else f"{milli / GPU_MILLI:,.3f}"


def percent(part: Part) -> str:
    """Part of a whole, to one decimal; all and nothing are said of all and nothing only, a dash of no whole."""
    if not part.denominator:
        return NONE
    percents = 100 * part.numerator / part.denominator
    if 0 < percents < LEAST_PERCENT:
        return "<0.1 %"
    if MOST_PERCENT < percents < 100:  # noqa: PLR2004 -- percent
        return ">99.9 %"
    return f"{percents:.1f} %"


def ratio(part: Part) -> str:
    """A quotient that may exceed 1, to three decimals; ∞ for something over nothing."""
    if part.denominator:
        return f"{part.numerator / part.denominator:.3f}"
    return "∞" if part.numerator else "0.000"


def duration(seconds: int) -> str:
    """A length in its two largest units: 3 d 4 h, 2 h 5 min, 40 s."""
    for size_s, name, part_s, part in ((DAY_S, "d", HOUR_S, "h"), (HOUR_S, "h", MINUTE_S, "min")):
        if seconds >= size_s:
            whole, rest = divmod(seconds, size_s)
            return f"{whole} {name} {rest // part_s} {part}" if rest // part_s else f"{whole} {name}"
    return f"{seconds // MINUTE_S} min" if seconds >= MINUTE_S else f"{seconds} s"
