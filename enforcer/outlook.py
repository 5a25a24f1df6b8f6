"""When a job that nobody yields to could get a plan at the earliest, if nothing happens until then but time. Pure.

The book is folded on by ticks alone: what runs runs on, nobody comes, goes or is ordered off, while minimum runtimes
are banked, waits end, windows slide, shares and grants come into force. Those ahead in line are left aside, and what
saves its work from time to time is taken to have just done so: what is found is the earliest, not a promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from enforcer import windows
from enforcer.gates import Refusal, may_ask_s
from enforcer.gather import snapshot_of
from enforcer.plan import Plan, plan_for
from enforcer.rules import Rules, rules_of
from enforcer.snapshot import Asker, Snapshot
from enforcer.steps import run_of
from ledger.book import Book
from ledger.state import State
from ledger.units import HOUR_S, instant
from streams.backfill import tick

AHEAD_H: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Hours from now at which it is looked, whatever happens there: ρ moves all the time."""
FITS: Final = "fits"
MOST_ENDS: Final = 24
"""Instants at which something ends or begins; of more, so many are picked evenly, then of those skipped before."""


class Earliest(NamedTuple):
    """The first instant looked at by which the job has a plan or fits, and the last before at which it had not.

    `by_s` is None where a day does not change it; `found` is then the gate that it fails at the end of that day.
    `at_once` says that it changes exactly then: a minimum runtime is banked that was in the way, or its own wait over.
    `saved` are units that are taken to have just saved their work.
    """

    after_s: int
    by_s: int | None
    at_once: bool
    found: Plan | Refusal
    saved: frozenset[str]


def earliest(fresh: Callable[[], State], pool: str, job: str) -> Earliest | None:
    """The outlook of a job, alone before its pool; None if it has no place in line.

    `fresh` gives the facts each time anew, as looking ahead uses them up.
    """
    state = fresh()
    ends, now_s = _ends(state, snapshot_of(state, pool), job), state.ticked_s
    instants = {*_some(ends), *(now_s + hours * HOUR_S for hours in AHEAD_H)}
    found = _first(state, pool, job, sorted(instants), now_s)
    while found is not None and found.by_s is not None:
        skipped = [at_s for at_s in ends if found.after_s < at_s < found.by_s]
        if not skipped:
            break
        found = _first(fresh(), pool, job, [*_some(skipped), found.by_s], found.after_s)
    return found


def _first(state: State, pool: str, job: str, instants: Sequence[int], before_s: int) -> Earliest | None:
    """The first of some instants at which the job has a plan or fits; it had not at the one before."""
    book = Book(state.cluster)
    book.resume(state)
    now_s, found, saved = state.ticked_s, None, frozenset[str]()
    for at_s in instants:
        _on_to(book, at_s)
        snapshot = snapshot_of(state, pool)
        saved = _saving(state, snapshot) if at_s > now_s else saved
        asker = _asker(snapshot, job)
        if asker is None:
            return None
        rules = rules_of(state.policy_at(at_s))
        units = tuple(replace(u, lost_gpu_ms=0) if u.name in saved else u for u in snapshot.units)
        snapshot = replace(snapshot, units=units)
        found = plan_for(asker, snapshot, rules)
        if _lets(found):
            return Earliest(before_s, at_s, _at_once(asker, snapshot, rules), found, saved)
        before_s = at_s
    return None if found is None else Earliest(before_s, None, at_once=False, found=found, saved=saved)


def _lets(found: Plan | Refusal) -> bool:
    return isinstance(found, Plan) or found.name == FITS


def _on_to(book: Book, at_s: int) -> None:
    if at_s > book.state.ticked_s:
        book.apply(tick(book.state.cluster, instant(at_s)), at_s, last_tick=False)
        book.take()


def _saving(state: State, snapshot: Snapshot) -> frozenset[str]:
    """Units all of whose runs can be resumed and have saved their work before."""
    saved = {
        run: found.terms.resumable and found.checkpointed_s is not None
        for unit in snapshot.units
        for run in unit.runs
        if (found := run_of(state, run)) is not None
    }
    return frozenset(unit.name for unit in snapshot.units if all(saved.get(run) for run in unit.runs))


def _own(asker: Asker, rules: Rules) -> set[int]:
    """When its delay and its back-off are over."""
    return {may_ask_s(asker, rules), asker.not_before_s}


def _at_once(asker: Asker, snapshot: Snapshot, rules: Rules) -> bool:
    """Whether it was not so a second ago: a wait of its own is over, or nothing goes without who has just banked."""
    at_s = snapshot.at_s
    if at_s in _own(asker, rules):
        return True
    bound = tuple(replace(u, contract_end_s=at_s + 1) if u.contract_end_s == at_s else u for u in snapshot.units)
    return not _lets(plan_for(asker, replace(snapshot, units=bound), rules))


def _asker(snapshot: Snapshot, job: str) -> Asker | None:
    return next((asker for asker in snapshot.askers if asker.job == job), None)


def _ends(state: State, snapshot: Snapshot, job: str) -> list[int]:
    """When something ends or begins as far as it is looked ahead, ascending."""
    now_s = state.ticked_s
    return sorted({at_s for at_s in _turning(state, snapshot, job) if now_s < at_s <= now_s + AHEAD_H[-1] * HOUR_S})


def _some(instants: list[int]) -> list[int]:
    return instants[:: -(-len(instants) // MOST_ENDS) or 1]


def _turning(state: State, snapshot: Snapshot, job: str) -> Iterator[int]:
    """When something ends or begins by the clock."""
    yield from (unit.contract_end_s for unit in snapshot.units if unit.account)
    yield from state.shares.edges
    yield from (grant.since_s for grant in state.grants)
    yield from windows.turns_s(state)
    yield from (change.at_s for change in state.policies.changes)
    asker = _asker(snapshot, job)
    if asker is not None:
        yield from _own(asker, rules_of(state.policy_at(state.ticked_s)))
