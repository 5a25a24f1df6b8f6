"""When statements reach the log: most within seconds, some hours or a day late, some twice, two contradicting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ledger.units import HOUR_S
from tenure.demo.chance import Chance, odds
from tenure.demo.decided import GRACE_S
from tenure.demo.seasons import Ints
from tenure.demo.span import Span
from tenure.demo.wire import Statement

USUAL_MS: Final = (1_000, 20_000)
HOURS_LATE: Final = 0.004
A_DAY_LATE: Final = 0.0004
REPEATED: Final = 0.006
"""Parts of all statements."""
SETTLE_S: Final = 30
"""Nothing reaches the log in the last half minute before the last tick."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The collector is away in [since_s, until_s) and then sends what it missed."""

    since_s: int
    until_s: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement in the log, as appended at `recorded_ms`."""

    statement: Statement
    recorded_ms: int


def outage(span: Span) -> Outage:
    """Two and a half hours of the story."""
    return Outage(span.at(13, 14), span.at(13, 16, 30))


def log(span: Span, said: list[Statement], chance: Chance) -> list[Entry]:
    """All statements in log order, repeats included."""
    recorded_ms = _recorded_ms(span, said, chance)
    entries = [Entry(statement, at) for statement, at in zip(said, recorded_ms.tolist(), strict=True)]
    last_ms = _last_ms(span)
    entries += _repeats(entries, last_ms, chance)
    entries += _contradictions(entries, last_ms)
    entries.sort(key=lambda entry: entry.recorded_ms)
    return entries


def _last_ms(span: Span) -> int:
    return (span.ends_s + GRACE_S - SETTLE_S) * 1_000


def _recorded_ms(span: Span, said: list[Statement], chance: Chance) -> Ints:
    """Recorded times in epoch milliseconds: the lag a statement asks for, or a drawn one."""
    count = len(said)
    at_ms = np.array([statement.at_s for statement in said], np.int64) * 1_000
    asked = np.array([-1 if s.lag_s is None else s.lag_s for s in said], np.int64) * 1_000
    usual = chance.integers(*USUAL_MS, count)
    hours = chance.integers(HOUR_S, 9 * HOUR_S, count) * 1_000
    a_day = chance.integers(20 * HOUR_S, 28 * HOUR_S, count) * 1_000
    lag = np.select([odds(chance, A_DAY_LATE, count), odds(chance, HOURS_LATE, count)], [a_day, hours], usual)
    drawn = _after_outage(at_ms + lag, outage(span), chance)
    # What would come after the span comes at its very end, in the order it happened.
    last = _last_ms(span)
    drawn = np.where(drawn > last, np.maximum(at_ms, last - usual), drawn)
    recorded: Ints = np.where(asked >= 0, at_ms + asked, drawn)
    return recorded


def _after_outage(recorded_ms: Ints, away: Outage, chance: Chance) -> Ints:
    missed = (recorded_ms >= away.since_s * 1_000) & (recorded_ms < away.until_s * 1_000)
    flood = away.until_s * 1_000 + chance.integers(0, 90_000, len(recorded_ms))
    return np.where(missed, np.maximum(flood, recorded_ms), recorded_ms)


def _repeats(entries: list[Entry], last_ms: int, chance: Chance) -> list[Entry]:
    """Statements sent twice: half by a producer's retry, to the byte, half read again minutes or hours later."""
    candidates = [n for n, entry in enumerate(entries) if entry.statement.lag_s is None]
    chosen = chance.choice(candidates, round(REPEATED * len(candidates)), replace=False).tolist()
    later_ms = chance.integers(60, 6 * HOUR_S, len(chosen)) * 1_000
    repeated = []
    for nth, (n, later) in enumerate(zip(chosen, later_ms.tolist(), strict=True)):
        entry = entries[n]
        again_ms = min(last_ms, entry.recorded_ms + later) if nth % 2 else entry.recorded_ms
        repeated.append(replace(entry, recorded_ms=max(entry.recorded_ms, again_ms)))
    return repeated


def _contradictions(entries: list[Entry], last_ms: int) -> list[Entry]:
    """Two statements come once more under their id with other contents: an end and a node's state."""
    middle_ms = (entries[0].recorded_ms + last_ms) // 2
    failed = _first(entries, middle_ms, "job.ended", "outcome", "failed")
    drained = _first(entries, middle_ms, "node.observed", "state", "draining")
    return [
        _again(failed, {"outcome": "out_of_memory", "exit_code": 137}, last_ms),
        _again(drained, {"reason": "operator's note: see the ticket"}, last_ms),
    ]


def _first(entries: list[Entry], after_ms: int, kind: str, field: str, value: str) -> Entry:
    """The first statement of that kind and value after an instant, or the last before it."""
    found = [e for e in entries if e.statement.type == kind and e.statement.data.get(field) == value]
    assert found, f"every demo has a {kind} that is {value}"
    after = [entry for entry in found if entry.recorded_ms >= after_ms]
    if after:
        return min(after, key=lambda entry: entry.recorded_ms)
    return max(found, key=lambda entry: entry.recorded_ms)


def _again(entry: Entry, changes: dict[str, object], last_ms: int) -> Entry:
    statement = replace(entry.statement, data=entry.statement.data | changes)
    return Entry(statement, max(entry.recorded_ms, min(last_ms, entry.recorded_ms + 90_000)))
