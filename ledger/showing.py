"""Runs and jobs as rows. Pure."""

from __future__ import annotations

from ledger.jobs import JobFacts
from ledger.rows import Job, Run
from ledger.runs import DerivedRun, ran_s
from ledger.state import Derived, State
from ledger.units import FOREVER_S


def run_rows(state: State, facts: JobFacts, derived: Derived) -> list[Run]:
    """Every run of a job as it now reads; one nobody told when it was eligible was so since it was in the queue."""
    asked = {until_s: from_s for from_s, until_s in derived.queued}
    return [_run_row(state, facts, run, asked.get(run.start_s)) for run in derived.runs]


def _run_row(state: State, facts: JobFacts, run: DerivedRun, queued_s: int | None) -> Run:
    """The columns by place, since by name they take three times as long."""
    attempt = facts.attempts[run.attempt]
    start_s, end_s, funded = run.start_s, run.end_s, run.funded
    ended_s = end_s if end_s != FOREVER_S else None
    running_s = ran_s(run, end_s) if ended_s is not None else None
    full = attempt.full
    terms = run.terms
    nodes, milli, indices = zip(*run.placements, strict=True) if run.placements else ((), (), ())
    return Run(
        state.cluster,
        run.job,
        run.attempt,
        run.ordinal,
        terms.user,
        terms.account,
        run.account if funded else "",
        run.pool,
        terms.kind,
        terms.gang,
        run.gpus_milli,
        nodes,
        milli,
        indices,
        _submitted_s(facts, run, full.submitted_s if full else None),
        full.eligible_s if full and full.eligible_s is not None else queued_s,
        start_s,
        ended_s,
        run.outcome,
        run.exit_code,
        terms.min_runtime_s,
        terms.resumable,
        terms.priority,
        funded,
        run.reason,
        run.contract_end_s if funded and run.contract_end_s != FOREVER_S else None,
        end_s - start_s - running_s if running_s is not None else None,
        running_s,
        run.checkpointed_s,
        refunded_gpu_ms(run),
        attempt.idle.since_s if attempt.idle else None,
        run.flags,
        tuple([(a_s, b_s) for a_s, b_s, releases in run.pauses if releases]) if run.pauses else (),
        facts.seq,
        facts.recorded_s,
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
    """A job as it now reads, with its latest terms; the columns by place, as those of a run."""
    runs = derived.runs
    terms = facts.terms_at(FOREVER_S) if facts.submitted or not runs else runs[-1].terms
    ends = [(run.end_s, run.outcome) for run in runs]
    running = FOREVER_S in [end_s for end_s, _ in ends]
    waiting = derived.queued_since is not None
    ends += [(end.at_s, end.outcome) for end in facts.ended]
    ended_s, outcome = max(ends) if ends and not (running or waiting) else (None, "")
    return Job(
        state.cluster,
        facts.job,
        terms.user,
        terms.account,
        terms.kind,
        terms.gang,
        terms.gpus_milli,
        terms.gpu_type,
        terms.shape_nodes,
        terms.shape_gpus_milli,
        terms.min_runtime_s,
        terms.resumable,
        terms.priority,
        facts.submitted[0].at_s if facts.submitted else _asked_s(facts),
        terms.eligible_from_s,
        "running" if running else ("held" if terms.held else "pending") if waiting else "ended",
        len(runs),
        ended_s,
        outcome,
        sum([wait.b_s - wait.a_s for wait in derived.waits if wait.b_s != FOREVER_S]),
        facts.seq,
        facts.recorded_s,
    )


def _asked_s(facts: JobFacts) -> int | None:
    told = [a.full.submitted_s for a in facts.attempts.values() if a.full and a.full.submitted_s is not None]
    return min(told, default=None)
