"""When people submit: office hours, quiet week-ends, one team away for a week, another before a deadline."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ledger.units import DAY_S, HOUR_S
from tenure.demo.chance import Chance
from tenure.demo.span import Span
from tenure.demo.tree import BURST_TEAM, IDLE_TEAM

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

IDLE_DAYS: Final = (8, 15)
BURST_DAYS: Final = (18, 23)
BURST: Final = 4.0
"""How many times its usual work a team submits before its deadline."""
SATURDAY: Final = 5
NIGHT: Final = 0.15
"""Submissions of a night hour, of the busiest hour's."""
WEEKEND: Final = 0.3
EPOCH_WEEKDAY: Final = 3
"""1970-01-01 was a Thursday."""
BACKLOG: Final = 10.0
"""The cluster was busy before the book opened: the first hour brings what was waiting."""


def intensity(span: Span, account: str, rhythm: float) -> Floats:
    """Relative submissions of each hour of the span, by one account's work of one `rhythm`."""
    start_s = span.opens_s + HOUR_S * np.arange(span.hours)
    hour = (start_s % DAY_S) // HOUR_S
    weekday = (start_s // DAY_S + EPOCH_WEEKDAY) % 7
    office = NIGHT + (1 - NIGHT) * np.exp(-(((hour - 13.5) / 4.0) ** 2))
    shape: Floats = (office * np.where(weekday >= SATURDAY, WEEKEND, 1.0)) ** rhythm
    shape[0] += BACKLOG * shape.mean()
    if account == IDLE_TEAM:
        shape[_within(span, start_s, IDLE_DAYS)] = 0.0
    if account == BURST_TEAM:
        shape[_within(span, start_s, BURST_DAYS)] *= BURST
    return shape


def moments(span: Span, shape: Floats, count: int, chance: Chance) -> Ints:
    """`count` epoch seconds drawn from `shape`."""
    hours = chance.choice(len(shape), count, p=shape / shape.sum())
    return span.opens_s + hours * HOUR_S + chance.integers(0, HOUR_S, count)


def _within(span: Span, start_s: Ints, days: tuple[int, int]) -> npt.NDArray[np.bool_]:
    since_s, until_s = span.at(days[0]), span.at(days[1])
    return (start_s >= since_s) & (start_s < until_s)
