"""Runs and jobs as rows. Pure."""

from __future__ import annotations

from ledger.jobs import JobFacts
from ledger.queue import queued, queued_since
from ledger.rows import Job, Run
from ledger.runs import DerivedRun, ran_s
from ledger.state import Derived, State
from ledger.units import FOREVER_S


def run_rows(state: State, facts: JobFacts, derived: Derived) -> list[Run]:
    """Every run of a job as it now reads; one nobody told when it was eligible was so since it was in the queue."""
    asked = {until_s: from_s for from_s, until_s in queued(facts, derived.runs)}
    return [_run_row(state, facts, run, asked.get(run.start_s)) for run in derived.runs]


def _run_row(state: State, facts: JobFacts, run: DerivedRun, queued_s: int | None) -> Run:
    attempt = facts.attempts[run.attempt]
    ended = run.end_s != FOREVER_S
    ran = ran_s(run, run.end_s) if ended else None
    full = attempt.full
    terms = run.terms
    return Run(
        cluster=state.cluster,
        job=run.job,
        attempt=run.attempt,
        ordinal=run.ordinal,
        user=terms.user,
        account=terms.account,
        ledger_account=run.account if run.funded else "",
        pool=run.pool,
        kind=terms.kind,
        gang=terms.gang,
        gpus_milli=run.gpus_milli,
        placed_nodes=tuple(p[0] for p in run.placements),
        placed_gpus_milli=tuple(p[1] for p in run.placements),
        placed_gpu_indices=tuple(tuple(p[2]) for p in run.placements),
        submitted_s=_submitted_s(facts, run, full.submitted_s if full else None),
        eligible_s=full.eligible_s if full and full.eligible_s is not None else queued_s,
        started_s=run.start_s,
        ended_s=run.end_s if ended else None,
        outcome=run.outcome,
        exit_code=run.exit_code,
        min_runtime_s=terms.min_runtime_s,
        resumable=terms.resumable,
        priority=terms.priority,
        funded=run.funded,
        funding_reason=run.reason,
        contract_end_s=run.contract_end_s if run.funded and run.contract_end_s != FOREVER_S else None,
        suspended_s=run.end_s - run.start_s - ran if ran is not None else None,
        running_s=ran,
        checkpointed_s=run.checkpointed_s,
        refunded_gpu_ms=refunded_gpu_ms(run),
        idle_since_s=attempt.idle.since_s if attempt.idle else None,
        flags=run.flags,
        released=tuple((a_s, b_s) for a_s, b_s, releases in run.pauses if releases),
        seq=facts.seq,
        recorded_s=facts.recorded_s,
    )


def refunded_gpu_ms(run: DerivedRun) -> int:
    """What a node failure gives back of the run's charge, all of it."""
    if run.refund_from_s == FOREVER_S:
        return 0
    return run.gpus_milli * (ran_s(run, run.end_s) - ran_s(run, run.refund_from_s))


def _submitted_s(facts: JobFacts, run: DerivedRun, told_s: int | None) -> int | None:
    """When this attempt was asked for: as its record says, else the job's last submission up to its start."""
    if told_s is not None:
        return told_s
    before = [s.at_s for s in facts.submitted if s.at_s <= run.start_s]
    return before[-1] if before else None


def job_row(state: State, facts: JobFacts, derived: Derived) -> Job:
    """A job as it now reads, with its latest terms."""
    runs = derived.runs
    terms = facts.terms_at(FOREVER_S) if facts.submitted or not runs else runs[-1].terms
    running = any(r.end_s == FOREVER_S for r in runs)
    waiting = queued_since(queued(facts, runs)) is not None
    ends = [r.end_s for r in runs if r.end_s != FOREVER_S] + [e.at_s for e in facts.ended]
    last = max(
        [(r.end_s, r.outcome) for r in runs if r.end_s != FOREVER_S] + [(e.at_s, e.outcome) for e in facts.ended],
        default=(0, ""),
    )
    over = not running and not waiting
    return Job(
        cluster=state.cluster,
        job=facts.job,
        user=terms.user,
        account=terms.account,
        kind=terms.kind,
        gang=terms.gang,
        gpus_milli=terms.gpus_milli,
        gpu_type=terms.gpu_type,
        shape_nodes=terms.shape_nodes,
        shape_gpus_milli=terms.shape_gpus_milli,
        min_runtime_s=terms.min_runtime_s,
        resumable=terms.resumable,
        priority=terms.priority,
        submitted_s=facts.submitted[0].at_s if facts.submitted else _asked_s(facts),
        eligible_from_s=terms.eligible_from_s,
        state="running" if running else ("held" if terms.held else "pending") if waiting else "ended",
        attempts=len(runs),
        ended_s=max(ends) if over and ends else None,
        outcome=last[1] if over else "",
        waited_s=sum(w.b_s - w.a_s for w in derived.waits if w.b_s != FOREVER_S),
        seq=facts.seq,
        recorded_s=facts.recorded_s,
    )


def _asked_s(facts: JobFacts) -> int | None:
    told = [a.full.submitted_s for a in facts.attempts.values() if a.full and a.full.submitted_s is not None]
    return min(told, default=None)
