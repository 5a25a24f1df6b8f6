"""When a job waits: the spans in which it is in the queue, with the terms it waits under (accounting §5). Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ledger.jobs import JobFacts
from ledger.runs import DerivedRun
from ledger.statements import Terms
from ledger.units import FOREVER_S

REQUEUES = frozenset({"requeued"})
REQUEUES_IF_RESUMABLE = frozenset({"preempted", "node_failure"})


class Wait(NamedTuple):
    """A stretch [a, b) in the queue under constant terms; `b_s` is FOREVER_S while it lasts."""

    a_s: int
    b_s: int
    terms: Terms
    submitted_s: int

    @property
    def asks(self) -> bool:
        """Whether it may be demand at all: without an account, a contract or GPUs it is funded nowhere."""
        terms = self.terms
        return bool(terms.min_runtime_s and terms.account and terms.gpus_milli)


Span = tuple[int, int]
"""A stretch [from, until) in the queue, held or not."""


def waits(facts: JobFacts, runs: tuple[DerivedRun, ...], spans: tuple[Span, ...]) -> tuple[Wait, ...]:
    """The waits that count as demand in the job's stretches in the queue: not held, eligible."""
    if not spans:
        return ()
    found: list[Wait] = []
    for a_s, b_s in spans:
        for wait in _by_terms(facts, runs, a_s, b_s):
            eligible_s = wait.terms.eligible_from_s
            begin = wait.a_s if eligible_s is None else max(wait.a_s, eligible_s)
            if not wait.terms.held and begin < wait.b_s:
                found.append(wait._replace(a_s=begin))
    return tuple(found)


def queued(facts: JobFacts, runs: tuple[DerivedRun, ...]) -> tuple[Span, ...]:
    """The job's stretches in the queue; the last one ends at FOREVER_S while it lasts."""
    marks = []
    for submitted in facts.submitted:
        at = max(submitted.at_s, submitted.terms.eligible_from_s or submitted.at_s)
        if not _running_at(runs, at):
            marks.append((at, True))
    for run in runs:
        attempt = facts.attempts[run.attempt]
        full = attempt.full
        if attempt.restarts and (second := attempt.life(facts.ended).again) is not None:
            marks.append((second.at_s, False))
        if full is not None:
            asked = full.eligible_s if full.eligible_s is not None else full.submitted_s
            if asked is not None and asked < run.start_s and not _running_at(runs, asked):
                marks.append((asked, True))
        marks.append((run.start_s, False))
        if run.end_s != FOREVER_S:
            again = run.told in REQUEUES or (run.outcome in REQUEUES_IF_RESUMABLE and run.terms.resumable)
            marks.append((run.end_s, again))
    marks += [(e.at_s, False) for e in facts.ended]
    marks.sort(key=_opening_first)
    spans: list[Span] = []
    since: int | None = None
    for at, opens in marks:
        if opens and since is None:
            since = at
        elif not opens and since is not None:
            if since < at:
                spans.append((since, at))
            since = None
    if since is not None:
        spans.append((since, FOREVER_S))
    return tuple(spans)


def _opening_first(mark: tuple[int, bool]) -> tuple[int, bool]:
    return mark[0], not mark[1]


def _running_at(runs: tuple[DerivedRun, ...], at_s: int) -> bool:
    """Whether an attempt runs at an instant: what is asked then is asked already."""
    for run in runs:  # noqa: SIM110 -- any() takes twice as long, and this is asked for every event
        if run.start_s <= at_s < run.end_s:
            return True
    return False


def _by_terms(facts: JobFacts, runs: tuple[DerivedRun, ...], a_s: int, b_s: int) -> list[Wait]:
    """A span cut where the job's terms change."""
    if not facts.submitted:
        run = next((r for r in runs if r.start_s >= b_s), runs[-1])
        terms = run.terms._replace(gpu_type=run.pool)
        return [Wait(a_s, b_s, terms, _asked_s(facts, run))]
    first = facts.submitted[0].at_s
    if len(facts.submitted) == 1 and not facts.updated:
        return [Wait(a_s, b_s, facts.submitted[0].terms, first)]
    cuts = {a_s, b_s}
    cuts.update(s.at_s for s in facts.submitted if a_s < s.at_s < b_s)
    cuts.update(u.at_s for u in facts.updated if a_s < u.at_s < b_s)
    return [Wait(a, b, facts.terms_at(a), first) for a, b in pairwise(sorted(cuts))]


def _asked_s(facts: JobFacts, run: DerivedRun) -> int:
    full = facts.attempts[run.attempt].full
    told = (full.submitted_s, full.eligible_s) if full is not None else ()
    return next((t for t in told if t is not None), run.start_s)
