"""Kinds of work and their usual sizes, lengths and contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ledger.events.jobs import JobKind, Outcome
from ledger.units import HOUR_S

MINUTE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Habit:
    """One kind of work: its part of an account's GPU-hours, and how its jobs are drawn.

    Lengths are log-normal around `median_s`, cut to [least_s, most_s]; `rhythm` says how closely submissions
    follow office hours (0: not at all); `contracts_s` are the minimum runtimes people choose from.
    """

    kind: JobKind
    part: float
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    median_s: int
    sigma: float
    least_s: int
    most_s: int
    contracts_s: tuple[int, ...]
    resumable: float
    rhythm: float
    patience_s: int


GANG: Final = Habit(
    "batch",
    0.57,
    (16, 24, 32, 48, 64),
    (0.40, 0.15, 0.25, 0.08, 0.12),
    9 * HOUR_S,
    0.7,
    2 * HOUR_S,
    40 * HOUR_S,
    (2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 8 * HOUR_S),
    0.92,
    0.4,
    14 * HOUR_S,
)
WHOLE_NODE: Final = Habit(
    "batch",
    0.24,
    (8,),
    (1.0,),
    5 * HOUR_S,
    0.8,
    HOUR_S // 2,
    30 * HOUR_S,
    (HOUR_S, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S),
    0.85,
    0.6,
    9 * HOUR_S,
)
SMALL: Final = Habit(
    "batch",
    0.14,
    (1, 2, 4),
    (0.5, 0.25, 0.25),
    5 * HOUR_S // 2,
    0.9,
    10 * MINUTE_S,
    24 * HOUR_S,
    (HOUR_S // 2, HOUR_S, 2 * HOUR_S, 4 * HOUR_S),
    0.7,
    0.8,
    7 * HOUR_S,
)
SESSION: Final = Habit(
    "session",
    0.045,
    (1, 2, 4),
    (0.75, 0.2, 0.05),
    4 * HOUR_S,
    0.6,
    30 * MINUTE_S,
    14 * HOUR_S,
    (HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 8 * HOUR_S),
    0.0,
    1.4,
    2 * HOUR_S,
)
DEBUG: Final = Habit(
    "debug",
    0.005,
    (1, 2, 4, 8),
    (0.5, 0.2, 0.15, 0.15),
    7 * MINUTE_S,
    0.5,
    MINUTE_S,
    15 * MINUTE_S,
    (5 * MINUTE_S, 10 * MINUTE_S, 15 * MINUTE_S),
    0.0,
    1.4,
    HOUR_S,
)
FUNDED: Final = (GANG, WHOLE_NODE, SMALL, SESSION, DEBUG)

SWEEP: Final = Habit(
    "batch",
    0.62,
    (1, 2, 4, 8),
    (0.2, 0.2, 0.3, 0.3),
    3 * HOUR_S,
    0.9,
    10 * MINUTE_S,
    24 * HOUR_S,
    (0,),
    0.75,
    0.5,
    40 * HOUR_S,
)
FREE_GANG: Final = Habit(
    "batch",
    0.38,
    (16, 32),
    (0.75, 0.25),
    5 * HOUR_S,
    0.7,
    HOUR_S,
    24 * HOUR_S,
    (0,),
    0.95,
    0.3,
    40 * HOUR_S,
)
UNFUNDED: Final = (SWEEP, FREE_GANG)

FATES: Final[dict[JobKind, tuple[tuple[Outcome, float], ...]]] = {
    "batch": (
        ("succeeded", 0.76),
        ("failed", 0.12),
        ("out_of_memory", 0.04),
        ("timeout", 0.04),
        ("cancelled", 0.04),
    ),
    "session": (("succeeded", 0.3), ("cancelled", 0.5), ("timeout", 0.2)),
    "debug": (("succeeded", 0.58), ("failed", 0.32), ("out_of_memory", 0.05), ("cancelled", 0.05)),
}
"""How work ends when nothing from outside ends it."""
