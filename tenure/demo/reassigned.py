"""One run that was charged to the wrong team, and the decision that moved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ledger.units import HOUR_S
from tenure.demo.cluster import CLUSTER
from tenure.demo.decided import DIRECTOR
from tenure.demo.span import Span
from tenure.demo.tree import BURST_TEAM, LANGUAGE
from tenure.demo.truth import Attempt, Truth
from tenure.demo.wire import PEOPLE, Fields, Statement

WRONG: Final = f"{LANGUAGE}/evaluation"
RIGHT: Final = BURST_TEAM


@dataclass(frozen=True, slots=True)
class Reassigned:
    """A run charged to `account` until it was moved at `at_s`."""

    attempt: Attempt
    at_s: int
    account: str = WRONG
    right_account: str = RIGHT


def reassigned(span: Span, truth: Truth) -> Reassigned:
    """The longest run of the wrong team that ended early enough for somebody to notice five hours later."""
    after_s = span.lasting(5 * HOUR_S)
    noticed = [
        attempt
        for attempt in truth.attempts
        if attempt.job.funded
        and attempt.job.ask.account == WRONG
        and attempt.ended_s is not None
        and attempt.ended_s + after_s < span.ends_s
    ]
    longest = max(noticed, key=lambda a: ((a.ended_s or 0) - a.started_s, a.job.number))
    return Reassigned(longest, (longest.ended_s or 0) + after_s)


def decision(moved: Reassigned) -> Statement:
    """Entered by the director, for the whole run from its start."""
    data: Fields = {
        "cluster": CLUSTER,
        "job": moved.attempt.job.job,
        "attempt": moved.attempt.name,
        "account": moved.right_account,
        "author": DIRECTOR,
        "reason": "submitted under the wrong account; both leads agree",
    }
    name = f"reassigned/{moved.attempt.job.job}/{moved.attempt.name}"
    return Statement(moved.at_s, "run.reassigned", PEOPLE, name, moved.attempt.job.job, data, lag_s=0)
