"""The fold of one cluster: (facts, event) -> (facts, rows).

`Book.apply` takes one event with the instant it was recorded and says how it was taken; `Book.take` hands out the rows
made since. Invariant after every event: the postings of each closed, kept hour sum to f of the facts.
"""

from __future__ import annotations

from typing import Any, assert_never

from ledger import decisions, observed_acts, observed_jobs, observed_nodes, statements
from ledger.closing import close_hour, close_through, horizon_s, move_horizon, write_open_hours
from ledger.events import (
    CapacityHeld,
    ClockTicked,
    ClusterEvent,
    GpuIdleObserved,
    GrantMade,
    JobCheckpointed,
    JobEnded,
    JobResumed,
    JobStarted,
    JobSubmitted,
    JobSuspended,
    JobUpdated,
    MaintenancePlanned,
    NodeObserved,
    NodeRemoved,
    NoticeCleared,
    NoticeRaised,
    PlanCommitted,
    PlanExpired,
    PolicySet,
    PreemptionIssued,
    PreemptionSettled,
    RunObserved,
    RunReassigned,
    ShareDecided,
    SharesSet,
)
from ledger.horizon import out_of_time
from ledger.jobs import JobFacts
from ledger.outcomes import APPLIED, REPEATED, Outcome, decided_before
from ledger.rows import Job, Row, Run
from ledger.showing import job_row, run_rows
from ledger.state import State
from ledger.statements import cause_of
from ledger.units import FOREVER_S, epoch_s, epoch_us
from ledger.writer import Writer


class Book:
    """One cluster's fold. Not thread-safe; one owner per cluster."""

    def __init__(self, cluster: str) -> None:
        """An empty book."""
        self.state = State(cluster)
        self.writer = Writer(self.state)
        self.changed: dict[tuple[str, str], None] = {}
        """Keys of facts changed since the hash was last taken: (kind, name) of a job, node or plan, ("", "")."""
        self._rows_due: dict[str, None] = {}

    def resume(self, state: State) -> None:
        """Go on from a state that was stored."""
        self.state = state
        self.writer = Writer(state)

    def apply(  # noqa: C901, PLR0911 -- one arm per kind of event
        self, event: ClusterEvent, recorded_s: int, *, last_tick: bool = True
    ) -> Outcome:
        """Take one event recorded at `recorded_s`.

        `last_tick` False spares a tick its provisional rows: a later one in hand replaces them.
        """
        state = self.state
        time_us = epoch_us(event.time)
        state.recorded_s = max(state.recorded_s, recorded_s)
        refused = out_of_time(event, time_us // 1_000_000, recorded_s)
        if refused is not None:
            return refused
        match event:
            case JobEnded():
                return observed_jobs.ended(self, event, time_us)
            case JobStarted():
                return observed_jobs.started(self, event, time_us)
            case JobSubmitted():
                return observed_jobs.submitted(self, event, time_us)
            case RunObserved():
                return observed_jobs.run_observed(self, event, time_us)
            case JobCheckpointed():
                return observed_jobs.checkpointed(self, event, time_us)
            case JobUpdated():
                return observed_jobs.updated(self, event, time_us)
            case JobSuspended() | JobResumed():
                return observed_jobs.toggled(self, event, time_us)
            case GpuIdleObserved():
                return observed_jobs.idle(self, event, time_us)
            case NodeObserved():
                return observed_nodes.node_stated(self, event, statements.node_observed(event, time_us))
            case NodeRemoved():
                return observed_nodes.node_stated(self, event, statements.node_removed(event, time_us))
            case ClockTicked():
                return self._ticked(event, last_tick=last_tick)
            case SharesSet() | GrantMade() | PolicySet() | MaintenancePlanned() | RunReassigned() | ShareDecided():
                return self._decided(event)
            case PlanCommitted() | PreemptionIssued() | PreemptionSettled() | CapacityHeld() | PlanExpired():
                return observed_acts.acted(self, event, time_us // 1_000_000)
            case NoticeRaised() | NoticeCleared():
                return REPEATED
            case _:
                assert_never(event)

    def take(self) -> dict[type[Row], list[Any]]:
        """Rows made since the last call, those of runs and jobs as they now read."""
        due, self._rows_due = self._rows_due, {}
        for name in due:
            self._write_rows(name)
        return self.writer.take()

    def _write_rows(self, name: str) -> None:
        facts, derived = self.state.jobs[name], self.state.read(name)
        self.writer.rows[Run] += run_rows(self.state, facts, derived)
        self.writer.rows[Job].append(job_row(self.state, facts, derived))

    def _forget(self, name: str) -> None:
        """Let go of a job; what is still to be written of it is written first, whenever rows are taken."""
        if name in self._rows_due:
            del self._rows_due[name]
            self._write_rows(name)
        self.state.forget_job(name)

    # -- common to all

    def advance(self) -> None:
        """One more event changed the facts."""
        self.state.seq += 1

    def remark(self, event: ClusterEvent, name: str, subject: str, sentence: str) -> None:
        """The event at hand is taken, and a person should look at it."""
        self.writer.remark(name, subject, sentence, event.source, event.id)

    def mark(self, facts: JobFacts) -> None:
        """The job's facts changed with the event at hand: hash, reading and rows are to be made again."""
        self.state.touch(facts.job)
        self.changed["job", facts.job] = None
        self.mark_row(facts)

    def mark_row(self, facts: JobFacts) -> None:
        """The job reads differently with the event at hand: its rows are to be written."""
        facts.seq, facts.recorded_s = self.state.seq, self.state.recorded_s
        self._rows_due[facts.job] = None

    def read_again(self, jobs: dict[str, None]) -> None:
        """Readings that may have changed though the jobs' own facts did not."""
        for name in jobs:
            before = self.state.derived[name]
            self.state.touch(name)
            if self.state.read(name) != before:
                self.mark_row(self.state.jobs[name])

    def close_missing(self, event: ClusterEvent) -> None:
        """The book may open earlier with the event at hand: hours it adds behind the watermark are posted whole."""
        state = self.state
        missing = [h for h in state.closed_hours(0, FOREVER_S) if h not in state.hours]
        if missing:
            state.read_all()
        cause = cause_of(event.source, event.id, state.seq)
        for hour_s in missing:
            close_hour(state, self.writer, hour_s, cause, list(state.jobs))

    # -- decisions and time

    def _decided(self, event: decisions.DecisionEvent) -> Outcome:
        state = self.state
        key = (event.source, event.id)
        content = statements.digest(event.model_dump(mode="json", exclude={"recordedtime"}))
        known = state.decided.get(key)
        if known is not None:
            if known != content:
                self.remark(event, *decided_before(event.source, event.id))
            return REPEATED
        state.decided[key] = content
        self.changed["", ""] = None
        verdict = decisions.judge(state, event)
        if verdict is not None:
            return verdict
        self.advance()
        decisions.carry_out(self, event)
        return APPLIED

    def read_again_from(self, from_s: int) -> list[str]:
        """Jobs with a run that starts at or after an instant: those a decision in force from then on may change."""
        return [name for name, d in self.state.derived.items() if any(r.start_s >= from_s for r in d.runs)]

    def _ticked(self, event: ClockTicked, *, last_tick: bool) -> Outcome:
        state = self.state
        at_s = epoch_s(event.data.at)
        if at_s <= state.ticked_s:
            return REPEATED
        self.advance()
        closed_before, is_first = state.closed_until_s, not state.ticked_s
        state.ticked_s = at_s
        self.changed["", ""] = None
        state.forget_windows()
        if state.closed_until_s > closed_before:
            # The book opens with the first tick: a node whose clock is wrong by years opens none of them.
            close_through(state, self.writer, horizon_s(state) if is_first else closed_before)
            dropped: dict[str, None] = {}
            nodes: dict[str, None] = {}
            move_horizon(state, dropped, nodes)
            for name in dropped:
                self._forget(name)
            self.changed.update({("job", name): None for name in dropped})
            self.changed.update({("node", name): None for name in nodes})
            self.changed.update({("plan", name): None for name in state.acts.forget_before(state.horizon_s)})
        if last_tick:
            write_open_hours(state, self.writer)
        return APPLIED
