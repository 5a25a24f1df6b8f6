"""Who tells what of each attempt: most as it happens, some again from accounting, a few wrongly at first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from ledger.units import HOUR_S
from tenure.demo import statements
from tenure.demo.chance import Chance
from tenure.demo.habits import MINUTE_S
from tenure.demo.span import Span
from tenure.demo.truth import Attempt
from tenure.demo.wire import Statement

Manner = Literal["plain", "restated", "polled", "lagging", "corrected", "forgotten"]
"""How an attempt is told.

`plain`: as it happens. `restated`: and once more by accounting after its end. `polled`: and by accounting while it
runs. `lagging`: accounting says it still runs when it has ended. `corrected`: its end is reported wrongly, until
accounting puts it right hours later. `forgotten`: its end is not reported at all until then.
"""

MANNERS: Final[dict[Manner, float]] = {
    "plain": 0.66,
    "restated": 0.20,
    "polled": 0.08,
    "lagging": 0.03,
    "corrected": 0.018,
    "forgotten": 0.012,
}
CORRECTED_AFTER_S: Final = (HOUR_S, 20 * HOUR_S)
"""How long a wrong end stands, at most a quarter of a short span."""
WRONG_BY_S: Final = (5 * MINUTE_S, 40 * MINUTE_S)
LONG_S: Final = HOUR_S


@dataclass(frozen=True, slots=True)
class Telling:
    """One attempt and how it is told; `said_s` is its end as first reported, `right_s` when that was put right."""

    attempt: Attempt
    manner: Manner
    said_s: int | None
    right_s: int | None = None


def tellings(span: Span, attempts: tuple[Attempt, ...], chance: Chance) -> list[Telling]:
    """How each attempt is told; where there is no room for a manner, plainly."""
    names, weights = tuple(MANNERS), tuple(MANNERS.values())
    count = len(attempts)
    least_s, most_s = CORRECTED_AFTER_S
    columns = zip(
        attempts,
        chance.choice(len(names), count, p=weights).tolist(),
        chance.integers(least_s, min(most_s, span.hours * HOUR_S // 4), count).tolist(),
        chance.integers(*WRONG_BY_S, count).tolist(),
        chance.choice([-1, 1, 1], count).tolist(),
        strict=True,
    )
    drawn = [
        _telling(span, attempt, names[which], after_s, sign * wrong_s)
        for attempt, which, after_s, wrong_s, sign in columns
    ]
    return _with_a_correction(span, drawn)


def _with_a_correction(span: Span, drawn: list[Telling]) -> list[Telling]:
    """A short demo may draw none, and every demo has one to show: then the first run with room for it."""
    if any(telling.manner == "corrected" for telling in drawn):
        return drawn
    least_s, wrong_s = CORRECTED_AFTER_S[0], WRONG_BY_S[1]
    forced = [_telling(span, telling.attempt, "corrected", least_s, wrong_s) for telling in drawn]
    chosen = next(n for n, telling in enumerate(forced) if telling.manner == "corrected")
    return [*drawn[:chosen], forced[chosen], *drawn[chosen + 1 :]]


def _telling(span: Span, attempt: Attempt, manner: Manner, after_s: int, wrong_s: int) -> Telling:
    """Only the end of a whole job is told wrongly: no later attempt of it may seem to overlap."""
    end_s = attempt.ended_s
    plain = Telling(attempt, "plain", end_s)
    if end_s is None:
        return plain
    match manner:
        case "plain" | "restated":
            return Telling(attempt, manner, end_s)
        case "lagging" | "polled":
            return Telling(attempt, manner, end_s) if end_s - attempt.started_s > LONG_S else plain
        case "corrected" | "forgotten":
            right_s = end_s + after_s
            said_s = end_s + wrong_s if manner == "corrected" else None
            possible = attempt.final and not attempt.stops and right_s < span.ends_s
            if not possible or (said_s is not None and said_s <= attempt.started_s):
                return plain
            return Telling(attempt, manner, said_s, right_s)
        case _:
            assert_never(manner)


def told(span: Span, telling: Telling) -> Iterator[Statement]:
    """Every statement about one attempt."""
    attempt = telling.attempt
    yield statements.started(attempt)
    yield from statements.stops(attempt)
    yield from statements.checkpoints(attempt)
    yield from statements.idle(attempt, span.ends_s)
    if telling.said_s is not None and attempt.outcome is not None:
        yield statements.ended(attempt, telling.said_s, attempt.outcome)
    yield from _by_accounting(telling)


def _by_accounting(telling: Telling) -> Iterator[Statement]:
    attempt, end_s = telling.attempt, telling.attempt.ended_s
    if end_s is None:
        return
    # The job's number stands in for chance: how long a poll takes is nobody's story.
    delay_s = MINUTE_S + attempt.job.number % 300
    match telling.manner:
        case "plain":
            return
        case "restated":
            lends = any(stop.releases_gpus for stop in attempt.stops)
            bare = attempt.job.number % 3 == 0 and not lends
            yield statements.observed(attempt, end_s + delay_s, running=False, bare=bare)
        case "polled":
            half_s = (attempt.started_s + end_s) // 2
            yield statements.observed(attempt, half_s, running=True)
        case "lagging":
            yield statements.observed(attempt, end_s + 20, running=True, lag_s=delay_s)
        case "corrected" | "forgotten":
            assert telling.right_s is not None, "put right, or told plainly"
            yield statements.observed(attempt, telling.right_s, running=False)
        case _:
            assert_never(telling.manner)
