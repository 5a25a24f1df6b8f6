"""The fold of one cluster: (facts, event) -> (facts, rows).

`Book.apply` takes one event with the instant it was recorded and says how it was taken; `Book.take` hands out the rows
made since. Invariant after every event: the postings of each closed, kept hour sum to f of the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from ledger import decisions, statements
from ledger.change import Change
from ledger.closing import close_hour, close_through, move_horizon, write_open_hours
from ledger.corrections import (
    correct_hours,
    correct_job,
    correct_node,
    whole_hours,
)
from ledger.events import (
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
    NodeObserved,
    NodeRemoved,
    NoticeCleared,
    NoticeRaised,
    PolicySet,
    RunObserved,
    RunReassigned,
    ShareDecided,
    SharesSet,
)
from ledger.jobs import Attempt, JobFacts
from ledger.nodes import Node
from ledger.outcomes import APPLIED, REPEATED, Outcome, Refused
from ledger.rows import Job, Row, Run
from ledger.showing import job_row, run_rows
from ledger.state import NOTHING, State
from ledger.statements import NodeStatement, cause_of
from ledger.units import FOREVER_S, HOUR_S, epoch_s, epoch_us, instant
from ledger.writer import Writer

EARLIEST_S = 946_684_800
"""2000-01-01: an earlier node statement would open the book, and close its hours, from there on."""

FUTURE_S = HOUR_S
"""An event may be this much ahead of the instant it was recorded: clocks differ, but not by more."""


class Book:
    """One cluster's fold. Not thread-safe; one owner per cluster."""

    def __init__(self, cluster: str) -> None:
        """An empty book."""
        self.state = State(cluster)
        self.writer = Writer(self.state)
        self.changed: dict[tuple[str, str], None] = {}
        """Keys of facts changed since the hash was last taken: ("job", name), ("node", name), ("", "")."""
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
        refused = self._out_of_time(event, time_us // 1_000_000, recorded_s)
        if refused is not None:
            return refused
        match event:
            case JobEnded():
                return self._ended(event, time_us)
            case JobStarted():
                return self._started(event, time_us)
            case JobSubmitted():
                return self._submitted(event, time_us)
            case RunObserved():
                return self._run_observed(event, time_us)
            case JobCheckpointed():
                return self._checkpointed(event, time_us)
            case JobUpdated():
                return self._updated(event, time_us)
            case JobSuspended() | JobResumed():
                return self._toggled(event, time_us)
            case GpuIdleObserved():
                return self._idle(event, time_us)
            case NodeObserved():
                return self._node(event, statements.node_observed(event, time_us))
            case NodeRemoved():
                return self._node(event, statements.node_removed(event, time_us))
            case ClockTicked():
                return self._ticked(event, last_tick=last_tick)
            case SharesSet() | GrantMade() | PolicySet() | RunReassigned() | ShareDecided():
                return self._decided(event)
            case NoticeRaised() | NoticeCleared():
                return REPEATED
            case _:
                assert_never(event)

    def take(self) -> dict[type[Row], list[Any]]:
        """Rows made since the last call, those of runs and jobs as they now read."""
        due, self._rows_due = self._rows_due, {}
        for name in due:
            facts = self.state.jobs.get(name)
            if facts is not None:
                derived = self.state.read(name)
                self.writer.rows[Run] += run_rows(self.state, facts, derived)
                self.writer.rows[Job].append(job_row(self.state, facts, derived))
        return self.writer.take()

    # -- common to all

    def _out_of_time(self, event: ClusterEvent, at_s: int, recorded_s: int) -> Refused | None:
        """Why the instants the event speaks of cannot be: ahead of the record, or of a clock that was never set."""
        earliest = latest = at_s
        match event:
            case RunObserved():
                earliest = min(at_s, epoch_s(event.data.started_at))
                told = (event.data.started_at, event.data.ended_at)
                latest = max(at_s, *(epoch_s(t) for t in told if t is not None))
            case ClockTicked():
                latest = max(at_s, epoch_s(event.data.at))
            case PolicySet() if event.data.opens_at is not None:
                earliest = min(at_s, epoch_s(event.data.opens_at))
            case _:
                pass
        if earliest < EARLIEST_S:
            return Refused(
                "clock_not_set",
                f"it speaks of {instant(earliest):%Y-%m-%d %H:%M:%S} UTC, before any cluster of GPUs; "
                "an instant of 0 often means unknown: leave it out, or set the clock of the source",
            )
        if latest <= recorded_s + FUTURE_S:
            return None
        return Refused(
            "from_the_future",
            f"it speaks of {instant(latest):%Y-%m-%d %H:%M:%S} UTC but was recorded at "
            f"{instant(recorded_s):%Y-%m-%d %H:%M:%S} UTC; check the clock and the time zone of the source",
        )

    def _advance(self) -> None:
        self.state.seq += 1

    def _remark(self, event: ClusterEvent, name: str, subject: str, sentence: str) -> None:
        self.writer.remark(name, subject, sentence, event.source, event.id)

    # -- jobs and runs

    def _beyond_horizon(self, what: str, until_s: int) -> Refused:
        return Refused(
            "beyond_horizon",
            f"{what} ends {instant(until_s):%Y-%m-%d %H:%M} UTC, before the first hour still kept "
            f"({instant(self.state.kept_from_s):%Y-%m-%d %H:%M} UTC); to book older time, import it into a book "
            "of its own with a larger horizon",
        )

    def _before_horizon(self, at_s: int) -> bool:
        """Whether an instant is out of the book's memory. Before the opening is not: the opening may still move."""
        opens = self.state.opens_s
        return opens is not None and at_s < self.state.horizon_s and self.state.horizon_s > opens

    def _forgotten(self, job: str, attempt: str | None, at_s: int) -> bool:
        """Whether a partial statement at this instant is about a job the book has let go of, or never knew in time."""
        if not self._before_horizon(at_s):
            return False
        facts = self.state.jobs.get(job)
        return facts is None or (attempt is not None and attempt not in facts.attempts)

    def _put(self, event: ClusterEvent, job: str, from_s: int, put: Callable[[JobFacts], bool]) -> Outcome:
        """Change a job's facts; where what changes may reach closed hours, post the difference.

        `from_s` is the first instant the statement itself can change, the facts known so far left aside. Readings of
        stale jobs, this one's included, still hold in closed hours: a closing reads all of them anew.
        """
        state = self.state
        facts = state.job(job)
        if from_s > state.closed_until_s and not facts.reaches_back():
            if not put(facts):
                return REPEATED
            self._advance()
            self.mark(facts)
            return APPLIED
        old = state.derived.get(job, NOTHING)
        if not put(facts):
            return REPEATED
        self._advance()
        self.mark(facts)
        state.read(job)
        change = Change()
        begin, until = correct_job(state, change, job, old)
        change.write(self.writer, event)
        if begin < until and begin < state.kept_from_s and state.horizon_s > (state.opens_s or 0):
            self._remark(
                event,
                "beyond_horizon_in_part",
                job,
                f"what it changes before {instant(state.kept_from_s):%Y-%m-%d %H:%M} UTC is left as it was: "
                "those hours are no longer kept",
            )
        return APPLIED

    def mark(self, facts: JobFacts) -> None:
        """The job's facts changed with the event at hand: hash, reading and rows are to be made again."""
        self.state.touch(facts.job)
        self.changed["job", facts.job] = None
        self.mark_row(facts)

    def mark_row(self, facts: JobFacts) -> None:
        """The job reads differently with the event at hand: its rows are to be written."""
        facts.seq, facts.recorded_s = self.state.seq, self.state.recorded_s
        self._rows_due[facts.job] = None

    def _ended(self, event: JobEnded, time_us: int) -> Outcome:
        data = event.data
        statement = statements.end(event, time_us)
        if self._forgotten(data.job, data.attempt, statement.at_s):
            return self._beyond_horizon("the ended run", statement.at_s)
        facts = self.state.job(data.job)
        if data.attempt is None:
            from_s = min([statement.at_s, *(e.at_s for e in facts.ended)])
            if data.outcome == "node_failure":
                from_s = -FOREVER_S
            return self._put(event, data.job, from_s, lambda f: statements.insert(f.ended, statement))
        attempt = facts.attempt(data.attempt)
        known = attempt.end
        from_s = min(statement.at_s, known.at_s if known is not None else statement.at_s)
        if data.outcome == "node_failure":
            from_s = -FOREVER_S
        if known is not None and statements.clash(known, statement):
            self._id_reused(event)
        return self._put(event, data.job, from_s, lambda _: attempt.put_end(statement))

    def _started(self, event: JobStarted, time_us: int) -> Outcome:
        data = event.data
        statement = statements.start(event, time_us)
        if self._forgotten(data.job, data.attempt, statement.at_s):
            return self._beyond_horizon("the start", statement.at_s)
        attempt = self.state.job(data.job).attempt(data.attempt)
        known = attempt.started_s()
        if attempt.start is not None and attempt.start[1:] != statement[1:]:
            if statements.clash(attempt.start, statement):
                self._id_reused(event)
            else:
                self._remark(
                    event,
                    "second_start",
                    f"{data.job}/{data.attempt}",
                    "a second start of the same attempt; the later statement is believed: "
                    "give a requeued run an attempt of its own",
                )
        from_s = statement.at_s if known is None else min(known, statement.at_s)
        outcome = self._put(event, data.job, from_s, lambda _: attempt.put_start(statement))
        if outcome is APPLIED:
            self._doubt_placements(event, data.job, data.attempt)
        return outcome

    def _submitted(self, event: JobSubmitted, time_us: int) -> Outcome:
        data = event.data
        statement = statements.submitted(event, time_us)
        if self._forgotten(data.job, None, statement.at_s):
            return self._beyond_horizon("the submission", statement.at_s)
        facts = self.state.job(data.job)
        starts = [s for a in facts.attempts.values() if (s := a.started_s()) is not None]
        if any(statements.clash(known, statement) for known in facts.submitted):
            self._id_reused(event)
        from_s = min([statement.at_s, *starts])
        return self._put(event, data.job, from_s, lambda f: statements.insert(f.submitted, statement))

    def _updated(self, event: JobUpdated, time_us: int) -> Outcome:
        statement = statements.updated(event, time_us)
        job = event.data.job
        if self._forgotten(job, None, statement.at_s):
            return self._beyond_horizon("the update", statement.at_s)
        facts = self.state.job(job)
        if any(statements.clash(known, statement) for known in facts.updated):
            self._id_reused(event)
        return self._put(event, job, statement.at_s, lambda f: statements.insert(f.updated, statement))

    def _run_observed(self, event: RunObserved, time_us: int) -> Outcome:
        data = event.data
        statement = statements.full(event, time_us)
        known = data.job in self.state.jobs and data.attempt in self.state.jobs[data.job].attempts
        until_s = statement.at_s if statement.ended_s is None else statement.ended_s
        if not known and self._before_horizon(until_s):
            return self._beyond_horizon("the run", until_s)
        attempt = self.state.job(data.job).attempt(data.attempt)
        told = [statement.started_s, statement.submitted_s, statement.eligible_s, attempt.started_s()]
        if attempt.end is not None:
            told.append(attempt.end.at_s)
        if attempt.full is not None:
            told += [attempt.full.submitted_s, attempt.full.eligible_s]
            if statements.clash(attempt.full, statement):
                self._id_reused(event)
        from_s = min(t for t in told if t is not None)
        outcome = self._put(event, data.job, from_s, lambda _: attempt.put_full(statement))
        if outcome is APPLIED:
            self._doubt_placements(event, data.job, data.attempt)
        return outcome

    def _checkpointed(self, event: JobCheckpointed, time_us: int) -> Outcome:
        data = event.data
        at_s = time_us // 1_000_000
        if self._forgotten(data.job, data.attempt, at_s):
            return self._beyond_horizon("the checkpoint", at_s)
        attempt = self.state.job(data.job).attempt(data.attempt)
        return self._put(event, data.job, FOREVER_S, lambda _: attempt.put_checkpoint(at_s))

    def _toggled(self, event: JobSuspended | JobResumed, time_us: int) -> Outcome:
        data = event.data
        statement = statements.toggle(event, time_us)
        if self._forgotten(data.job, data.attempt, statement.at_s):
            return self._beyond_horizon("the suspension", statement.at_s)
        attempt = self.state.job(data.job).attempt(data.attempt)
        if any(statements.clash(known, statement) for known in attempt.toggles):
            self._id_reused(event)
        return self._put(event, data.job, statement.at_s, lambda _: attempt.put_toggle(statement))

    def _idle(self, event: GpuIdleObserved, time_us: int) -> Outcome:
        data = event.data
        at_s = time_us // 1_000_000
        if self._forgotten(data.job, data.attempt, at_s):
            return self._beyond_horizon("the idleness", at_s)
        attempt = self.state.job(data.job).attempt(data.attempt)
        return self._put(event, data.job, FOREVER_S, lambda _: attempt.put_idle(statements.idle(event, time_us)))

    def _id_reused(self, event: ClusterEvent) -> None:
        self._remark(
            event,
            "id_reused",
            event.id,
            f"two different contents came under the id {event.id} of {event.source}; both are in the archive, "
            "the greater stamp is believed: give each statement an id of its own",
        )

    def _doubt_placements(self, event: ClusterEvent, job: str, attempt_name: str) -> None:
        """Remark on placements the nodes cannot hold; they are booked, and show as overbooked."""
        state = self.state
        attempt: Attempt = state.jobs[job].attempts[attempt_name]
        source = attempt.start if attempt.start is not None else attempt.full
        at_s = attempt.started_s()
        if source is None or at_s is None:
            return
        for node, milli, _ in source.placements:
            known = state.nodes.get(node)
            if known is None:
                sentence = f"the run is on {node}, of which no statement is known; send the cluster's nodes first"
                self._remark(event, "unknown_node", f"{job}/{attempt_name}", sentence)
                return
            size = known.stretches(at_s, at_s + 1)[0].gpus_milli
            if milli > size:
                sentence = f"the run holds {milli} milli-GPUs of {node}, which has {size}; correct one of the two"
                self._remark(event, "placement_over_node", f"{job}/{attempt_name}", sentence)
                return

    # -- nodes

    def _node(self, event: NodeObserved | NodeRemoved, statement: NodeStatement) -> Outcome:
        state = self.state
        name = event.data.node
        node = state.nodes.get(name)
        if node is not None and statement in node.statements:
            return REPEATED
        if node is not None and node.superseded_before(statement, state.horizon_s):
            return self._beyond_horizon("the node statement's time in force", node.next_after(statement))
        if node is None:
            node = Node(name)
        if any(statements.clash(known, statement) for known in node.statements):
            self._id_reused(event)
        self._advance()
        self.changed["node", name] = None
        old_types = node.types()
        old = Node(name, list(node.statements))
        hours = state.closed_hours(statement.at_s, node.next_after(statement))
        retyped = self._retypes(node, statement)
        if hours or retyped:
            state.read_all()
        if retyped and self._first_hour_on(node, statement) < state.closed_until_s:
            self._retype(event, node, statement)
        else:
            self._insert_node(node, statement)
            if retyped:
                self._reread(name, old_types)
            change = Change()
            if old.statements:
                correct_node(state, change, old, hours)
            change.write(self.writer, event)
        if state.first_node_s is None or statement.at_s < state.first_node_s:
            state.first_node_s = statement.at_s
            self.changed["", ""] = None
            self.close_missing(event)
        return APPLIED

    @staticmethod
    def _retypes(node: Node, statement: NodeStatement) -> bool:
        """Whether the GPU types of the node over time would change."""
        trial = Node(node.name, list(node.statements))
        trial.put(statement)
        return trial.types() != node.types()

    def _insert_node(self, node: Node, statement: NodeStatement) -> None:
        node.put(statement)
        self.state.nodes[node.name] = node
        self.state.node_changed(node.name, statement.at_s)

    def _reread(self, node: str, old_types: tuple[tuple[int, str], ...]) -> None:
        """Runs on a node whose GPU type changed are to be read again."""
        if old_types == self.state.node_types(node):
            return
        self._read_again(self.state.ever_on_node(node))

    def _read_again(self, jobs: dict[str, None]) -> None:
        """Readings that may have changed though the jobs' own facts did not."""
        for name in jobs:
            before = self.state.derived[name]
            self.state.touch(name)
            if self.state.read(name) != before:
                self.mark_row(self.state.jobs[name])

    def _retype(self, event: NodeObserved | NodeRemoved, node: Node, statement: NodeStatement) -> None:
        """A node new to closed hours, or of another GPU type in them: compare whole hours."""
        state = self.state
        before = whole_hours(state, state.closed_hours(self._first_hour_on(node, statement), FOREVER_S))
        self._insert_node(node, statement)
        self._read_again(state.ever_on_node(node.name))
        change = Change()
        correct_hours(state, change, before)
        change.write(self.writer, event)

    def _first_hour_on(self, node: Node, statement: NodeStatement) -> int:
        """The earliest instant that can read differently: the statement's, or the first run on the node."""
        starts = [run.start_s for name in self.state.ever_on_node(node.name) for run in self.state.derived[name].runs]
        return min([statement.at_s, *starts])

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
                self._id_reused(event)
            return REPEATED
        state.decided[key] = content
        self.changed["", ""] = None
        verdict = decisions.judge(state, event)
        if verdict is not None:
            return verdict
        self._advance()
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
        self._advance()
        closed_before = state.closed_until_s
        state.ticked_s = at_s
        self.changed["", ""] = None
        if state.closed_until_s > closed_before:
            close_through(state, self.writer, closed_before)
            dropped: dict[str, None] = {}
            nodes: dict[str, None] = {}
            move_horizon(state, dropped, nodes)
            self.changed.update({("job", name): None for name in dropped})
            self.changed.update({("node", name): None for name in nodes})
        if last_tick:
            write_open_hours(state, self.writer)
        return APPLIED
