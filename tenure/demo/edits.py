"""What owners change about their jobs after submitting them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledger.units import HOUR_S
from tenure.demo import statements
from tenure.demo.chance import Chance, odds
from tenure.demo.truth import Attempt, Truth
from tenure.demo.wire import Statement

IMPATIENT: Final = 0.08
"""Part of those waiting longer than an hour who raise their priority."""
EXTENDED: Final = 0.02
RENEGOTIATED: Final = 0.01
"""Parts of the runs longer than an hour whose limit, or whose next contract, is changed while they run."""


def edits(truth: Truth, chance: Chance) -> Iterator[Statement]:
    """Holds released, priorities raised in the queue, limits and contracts changed during a run."""
    for job in truth.jobs:
        if job.held:
            yield statements.updated(job, job.eligible_s, held=False)
    yield from _raised(truth, chance)
    yield from _during(truth, chance)


def _raised(truth: Truth, chance: Chance) -> Iterator[Statement]:
    left_s: dict[int, int] = {c.job.number: c.at_s for c in reversed(truth.cancelled)}
    left_s |= {a.job.number: a.started_s for a in reversed(truth.attempts)}
    asks = odds(chance, IMPATIENT, len(truth.jobs)).tolist()
    for job, impatient in zip(truth.jobs, asks, strict=True):
        asks_s = job.eligible_s + HOUR_S
        if impatient and asks_s < left_s.get(job.number, 0) and job.ask.priority < 1:
            yield statements.updated(job, asks_s, priority=1)


def _during(truth: Truth, chance: Chance) -> Iterator[Statement]:
    count = len(truth.attempts)
    extended = odds(chance, EXTENDED, count).tolist()
    renegotiated = odds(chance, RENEGOTIATED, count).tolist()
    for attempt, extends, renegotiates in zip(truth.attempts, extended, renegotiated, strict=True):
        if _lasts(attempt, HOUR_S):
            job, half_h_s = attempt.job, attempt.started_s + HOUR_S // 2
            if extends:
                yield statements.updated(job, half_h_s, time_limit_s=job.ask.time_limit_s + 4 * HOUR_S)
            if renegotiates and job.funded:
                yield statements.updated(job, half_h_s + 60, min_runtime_s=job.ask.min_runtime_s // 2)


def _lasts(attempt: Attempt, seconds: int) -> bool:
    return attempt.ended_s is not None and attempt.ended_s - attempt.started_s > seconds
