"""What is said of jobs and runs, into their registers; with what it changes of closed hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ledger import statements
from ledger.acts import RunName
from ledger.change import Change
from ledger.corrections import correct_job
from ledger.events import (
    ClusterEvent,
    GpuIdleObserved,
    JobCheckpointed,
    JobEnded,
    JobResumed,
    JobStarted,
    JobSubmitted,
    JobSuspended,
    JobUpdated,
    RunObserved,
)
from ledger.horizon import beyond_horizon
from ledger.jobs import Attempt, JobFacts
from ledger.outcomes import APPLIED, BEFORE_OPENING, REPEATED, Doubt, Outcome, id_reused
from ledger.runs import CLOCKS_APART_S
from ledger.state import NOTHING
from ledger.statements import S, Start
from ledger.units import FOREVER_S, instant

if TYPE_CHECKING:
    from ledger.book import Book

SECOND_START: Final = "second_start"
HELD_WHILE_RUNNING: Final = "held_while_running"


def _before_horizon(book: Book, at_s: int) -> bool:
    """Whether an instant is out of the book's memory. Before the opening is not: the opening may still move."""
    opens = book.state.opens_s
    return opens is not None and at_s < book.state.horizon_s and book.state.horizon_s > opens


def _forgotten(book: Book, job: str, attempt: str | None, at_s: int) -> bool:
    """Whether a partial statement at this instant is about a job the book has let go of, or never knew in time."""
    if not _before_horizon(book, at_s):
        return False
    facts = book.state.jobs.get(job)
    return facts is None or (attempt is not None and attempt not in facts.attempts)


def _put(
    book: Book,
    event: ClusterEvent,
    job: str,
    from_s: int,
    put: Callable[[JobFacts], bool],
    doubt: Doubt | None = None,
) -> Outcome:
    """Change a job's facts; where what changes may reach closed hours, post the difference.

    `from_s` is the first instant the statement itself can change, the facts known so far left aside. Readings of
    stale jobs, this one's included, still hold in closed hours: a closing reads all of them anew.
    """
    state = book.state
    facts = state.job(job)
    overlaps, again = facts.overlaps(), facts.second_starts()
    late = from_s <= state.closed_until_s or facts.reaches_back()
    old = state.derived.get(job, NOTHING)
    if not put(facts):
        return REPEATED
    book.advance()
    book.mark(facts)
    if doubt is not None:
        book.remark(event, *doubt)
    _doubt_attempts(book, event, facts, overlaps)
    _doubt_starts(book, event, facts, again)
    if not late:
        return APPLIED
    state.read(job)
    change = Change()
    begin, until = correct_job(state, change, job, old)
    change.write(book.writer, event)
    if begin < until and begin < state.kept_from_s and state.horizon_s > (state.opens_s or 0):
        book.remark(
            event,
            "beyond_horizon_in_part",
            job,
            f"what it changes before {instant(state.kept_from_s):%Y-%m-%d %H:%M} UTC is left as it was: "
            "those hours are no longer kept",
        )
    return APPLIED


def ended(book: Book, event: JobEnded, time_us: int) -> Outcome:
    """An end, of an attempt or of the job."""
    data = event.data
    statement = statements.end(event, time_us)
    if _forgotten(book, data.job, data.attempt, statement.at_s):
        return beyond_horizon(book.state, "the ended run", statement.at_s)
    facts = book.state.job(data.job)
    if data.attempt is None:
        from_s = min([statement.at_s, *(e.at_s for e in facts.ended)])
        if data.outcome == "node_failure":
            from_s = -FOREVER_S
        return _put(book, event, data.job, from_s, lambda f: statements.insert(f.ended, statement))
    attempt = facts.attempt(data.attempt)
    known = attempt.life().end
    from_s = min(statement.at_s, known.at_s if known is not None else statement.at_s)
    if data.outcome == "node_failure":
        from_s = -FOREVER_S
    doubt = _reused(event, attempt.ends, statement)
    outcome = _put(book, event, data.job, from_s, lambda _: attempt.put_end(statement), doubt)
    if outcome is APPLIED:
        _doubt_opening(book, event, data.job, data.attempt)
    return outcome


def started(book: Book, event: JobStarted, time_us: int) -> Outcome:
    """A start of an attempt."""
    data = event.data
    statement = statements.start(event, time_us)
    if _forgotten(book, data.job, data.attempt, statement.at_s):
        return beyond_horizon(book.state, "the start", statement.at_s)
    facts = book.state.job(data.job)
    attempt = facts.attempt(data.attempt)
    doubt = _reused(event, [s for s in attempt.starts if s[1:] != statement[1:]], statement)
    other = doubt is None and any(s[1:] != statement[1:] for s in attempt.starts)
    from_s = min(at for at in (statement.at_s, *attempt.instants(), *attempt.asked_s()) if at is not None)
    outcome = _put(book, event, data.job, from_s, lambda _: attempt.put_start(statement), doubt)
    if outcome is APPLIED and other and data.attempt not in facts.second_starts():
        book.remark(event, *_started_twice(data.job, data.attempt))
    if outcome is APPLIED and not _doubt_opening(book, event, data.job, data.attempt):
        _doubt_placements(book, event, data.job, data.attempt)
    return outcome


def _reused(event: ClusterEvent, known: Sequence[S], statement: S) -> Doubt | None:
    """Whether the event's id came before with other content."""
    if any(statements.clash(one, statement) for one in known):
        return id_reused(event.source, event.id)
    return None


def _started_twice(job: str, attempt: str) -> Doubt:
    return (
        SECOND_START,
        f"{job}/{attempt}",
        (
            "a second start of the same attempt; the later statement is believed: "
            "give a requeued run an attempt of its own"
        ),
    )


def submitted(book: Book, event: JobSubmitted, time_us: int) -> Outcome:
    """Full terms of a job."""
    data = event.data
    statement = statements.submitted(event, time_us)
    if _forgotten(book, data.job, None, statement.at_s):
        return beyond_horizon(book.state, "the submission", statement.at_s)
    facts = book.state.job(data.job)
    asked = [at for a in facts.attempts.values() for at in (*a.instants(), *a.asked_s()) if at is not None]
    doubt = _reused(event, facts.submitted, statement)
    from_s = min([statement.at_s, *asked])
    return _put(book, event, data.job, from_s, lambda f: statements.insert(f.submitted, statement), doubt)


def updated(book: Book, event: JobUpdated, time_us: int) -> Outcome:
    """Changed terms of a job."""
    statement = statements.updated(event, time_us)
    job = event.data.job
    if _forgotten(book, job, None, statement.at_s):
        return beyond_horizon(book.state, "the update", statement.at_s)
    facts = book.state.job(job)
    doubt = _reused(event, facts.updated, statement)
    outcome = _put(book, event, job, statement.at_s, lambda f: statements.insert(f.updated, statement), doubt)
    if outcome is APPLIED and event.data.held:
        _doubt_hold(book, event, job, statement.at_s)
    return outcome


def run_observed(book: Book, event: RunObserved, time_us: int) -> Outcome:
    """A whole run as an accounting system tells it."""
    data = event.data
    statement = statements.full(event, time_us)
    known = data.job in book.state.jobs and data.attempt in book.state.jobs[data.job].attempts
    until_s = statement.at_s if statement.ended_s is None else statement.ended_s
    if not known and _before_horizon(book, until_s):
        return beyond_horizon(book.state, "the run", until_s)
    attempt = book.state.job(data.job).attempt(data.attempt)
    told = [statement.started_s, statement.submitted_s, statement.eligible_s, *attempt.instants(), *attempt.asked_s()]
    doubt = _reused(event, [attempt.full] if attempt.full is not None else [], statement)
    from_s = min(t for t in told if t is not None)
    outcome = _put(book, event, data.job, from_s, lambda _: attempt.put_full(statement), doubt)
    if outcome is APPLIED and not _doubt_opening(book, event, data.job, data.attempt):
        _doubt_placements(book, event, data.job, data.attempt)
    return outcome


def checkpointed(book: Book, event: JobCheckpointed, time_us: int) -> Outcome:
    """Progress banked."""
    data = event.data
    at_s = time_us // 1_000_000
    if _forgotten(book, data.job, data.attempt, at_s):
        return beyond_horizon(book.state, "the checkpoint", at_s)
    attempt = book.state.job(data.job).attempt(data.attempt)
    return _put(book, event, data.job, FOREVER_S, lambda _: attempt.put_checkpoint(at_s))


def toggled(book: Book, event: JobSuspended | JobResumed, time_us: int) -> Outcome:
    """A pause opened or closed."""
    data = event.data
    statement = statements.toggle(event, time_us)
    if _forgotten(book, data.job, data.attempt, statement.at_s):
        return beyond_horizon(book.state, "the suspension", statement.at_s)
    attempt = book.state.job(data.job).attempt(data.attempt)
    doubt = _reused(event, attempt.toggles, statement)
    return _put(book, event, data.job, statement.at_s, lambda _: attempt.put_toggle(statement), doubt)


def idle(book: Book, event: GpuIdleObserved, time_us: int) -> Outcome:
    """All samples zero for a while."""
    data = event.data
    at_s = time_us // 1_000_000
    if _forgotten(book, data.job, data.attempt, at_s):
        return beyond_horizon(book.state, "the idleness", at_s)
    attempt = book.state.job(data.job).attempt(data.attempt)
    return _put(book, event, data.job, FOREVER_S, lambda _: attempt.put_idle(statements.idle(event, time_us)))


def ordered_off(book: Book, event: ClusterEvent, run: RunName, plan: str, at_s: int) -> None:
    """The attempt has to leave: if it ends from now on, it may read as preempted."""
    attempt = book.state.job(run[0]).attempt(run[1])
    _put(book, event, run[0], at_s - CLOCKS_APART_S, lambda _: attempt.put_order(at_s, plan))


def order_withdrawn(book: Book, event: ClusterEvent, run: RunName, plan: str, ordered_s: int) -> None:
    """It never had to leave by this plan: how it ended is how it was told."""
    attempt = book.state.job(run[0]).attempt(run[1])
    _put(book, event, run[0], ordered_s - CLOCKS_APART_S, lambda _: attempt.withdraw(plan))


def _doubt_hold(book: Book, event: ClusterEvent, job: str, at_s: int) -> None:
    """Remark on a hold of what runs: it stops nothing here, and Slurm's own accounting is not to be compared with."""
    for run in book.state.read(job).runs:
        if run.start_s <= at_s < run.end_s:
            sentence = (
                f"the job was held while attempt {run.attempt} ran: the run goes on, and so does what it is charged; "
                "Slurm leaves such a run out of sreport and of what sacct lists by default: ask sacct for its number"
            )
            book.remark(event, HELD_WHILE_RUNNING, f"{job}/{run.attempt}", sentence)


def _doubt_attempts(book: Book, event: ClusterEvent, facts: JobFacts, known: dict[tuple[str, str], str]) -> None:
    """Remark on attempts of one job that now hold a node at once, and did not before; they are booked as told."""
    for (first, second), node in facts.overlaps().items():
        if (first, second) not in known:
            sentence = (
                f"attempts {first} and {second} of job {facts.job} hold {node} at the same time; "
                f"send the end of {first}, or give the second record another job id"
            )
            book.remark(event, "attempts_overlap", f"{facts.job}/{second}", sentence)


def _doubt_starts(book: Book, event: ClusterEvent, facts: JobFacts, known: dict[str, Start]) -> None:
    """Remark on a start that now comes after the attempt's end, and did not before: the run stays as it ended."""
    for name, again in facts.second_starts().items():
        if known.get(name) != again:
            sentence = (
                f"a start at {instant(again.at_s):%Y-%m-%d %H:%M} UTC of an attempt that had ended: the run stays as "
                "it was, and nothing since then is booked: give a requeued run an attempt of its own"
            )
            book.remark(event, SECOND_START, f"{facts.job}/{name}", sentence)


def _doubt_opening(book: Book, event: ClusterEvent, job: str, attempt_name: str) -> bool:
    """Remark on a run that was over before the book opens, and say if it is one: nothing of it is booked."""
    opens_s, facts = book.state.opens_s, book.state.jobs[job]
    attempt = facts.attempts[attempt_name]
    end = attempt.life(facts.ended).end
    if opens_s is None or end is None or end.at_s > opens_s:
        return False
    start_s = attempt.started_s(facts.ended)
    if start_s is None or start_s > opens_s:
        return False
    sentence = (
        f"the run ended {instant(end.at_s):%Y-%m-%d %H:%M} UTC, before the book opens at "
        f"{instant(opens_s):%Y-%m-%d %H:%M} UTC, and nothing of it is booked: import older files first, or set the "
        "policy's opens_at before the first hour is closed"
    )
    book.remark(event, BEFORE_OPENING, f"{job}/{attempt_name}", sentence)
    return True


def _doubt_placements(book: Book, event: ClusterEvent, job: str, attempt_name: str) -> None:
    """Remark on placements the nodes cannot hold; they are booked, and show as overbooked."""
    state, facts = book.state, book.state.jobs[job]
    attempt: Attempt = facts.attempts[attempt_name]
    source = attempt.life(facts.ended).start or attempt.full
    at_s = attempt.started_s(facts.ended)
    if source is None or at_s is None:
        return
    for node, milli, _ in source.placements:
        known = state.nodes.get(node)
        if known is None:
            sentence = f"the run is on {node}, of which no statement is known; send the cluster's nodes first"
            book.remark(event, "unknown_node", f"{job}/{attempt_name}", sentence)
            return
        size = known.stretches(at_s, at_s + 1)[0].gpus_milli
        if milli > size:
            sentence = f"the run holds {milli} milli-GPUs of {node}, which has {size}; correct one of the two"
            book.remark(event, "placement_over_node", f"{job}/{attempt_name}", sentence)
            return
