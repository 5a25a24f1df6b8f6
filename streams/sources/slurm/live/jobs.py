"""From records of jobs to the events that were not told yet. Pure: one pass over one poll.

Ends come only from a record that tells of one: a job that is listed no more may have been lost sight of in many ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from ledger.events import ClusterEvent
from ledger.events.jobs import (
    AttemptData,
    JobEnded,
    JobEndedData,
    JobResumed,
    JobStarted,
    JobStartedData,
    JobSubmitted,
    JobSubmittedData,
    JobSuspended,
    JobSuspendedData,
    JobUpdated,
    JobUpdatedData,
    Suspension,
)
from ledger.units import epoch_s, instant
from streams.sources.config import SourceConfig
from streams.sources.identity import event_id
from streams.sources.slurm.live.cursor import Attempt, Pauses
from streams.sources.slurm.live.pauses import follow, settle, total_s, turns
from streams.sources.slurm.record import JobRecord
from streams.sources.slurm.statements import Reader
from streams.sources.terms import Terms

SETTLED_S: Final = 10
"""So long after its end a row of accounting is whole. Before, a task of an array may stand there without its array, as
a job of its own; where the controller has named the task, its number tells whose row it is."""
GONE_AFTER: Final = 3
"""So many polls in a row must both controller and accounting know nothing of a waiting job before it is given up."""
_CHANGES: Final = frozenset(JobUpdatedData.model_fields) - {"cluster", "job"}


def base_of(key: str) -> str:
    """The job's number in `job/attempt`, with its task: what accounting is asked for."""
    return key.partition("/")[0].partition("+")[0]


@dataclass(slots=True)
class Telling:
    """One pass: the attempts as they were told, and what is told of them now.

    `seen` are the attempts this poll has named. `polled_s` is the last poll before this one at `at_s`. `slurm` is what
    the controller calls its cluster: accounting may keep others beside it.
    """

    config: SourceConfig
    attempts: dict[str, Attempt]
    since_s: int
    polled_s: int
    at_s: int
    slurm: str = ""
    reader: Reader = field(init=False)
    numbers: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    events: list[ClusterEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reader = Reader(self.config)
        self.numbers = {
            f"{known.number}/{key.partition('/')[2]}": key for key, known in self.attempts.items() if known.number
        }

    # ------------------------------------------------------------------ what is told of

    def controller(self, record: JobRecord) -> None:
        """A job as its controller has it. Raises Refused."""
        self.slurm = record.cluster or self.slurm
        for key, job, attempt in self.named(record):
            known = self.attempts.get(key)
            if record.state.leaving:
                continue  # a requeue moves the start while it lasts, and old versions do not tell it from an end
            match record.state.phase:
                case "pending":
                    self._waits(key, job, known, record)
                case "running" | "suspended":
                    if known is None or known.phase != "ended":
                        self._runs(key, job, attempt, known, record)
                case "ended":
                    self._over(key, job, attempt, known, record)

    def accounting(self, record: JobRecord) -> None:
        """A row of accounting: it speaks of what is over, the controller of all else. Raises Refused."""
        if record.over and record.cluster in {None, self.slurm}:
            for key, job, attempt in self.named(record):
                known = self.attempts.get(key)
                if known is not None or (record.end_s or 0) <= self.at_s - SETTLED_S:
                    self._over(key, job, attempt, known, record)

    def named(self, record: JobRecord) -> list[tuple[str, str, str]]:
        """(key, job, attempt) of each job of the record that is one of ours."""
        if record.id.step is not None or record.state.revoked or not record.gpus.milli:
            return []
        attempt = self.reader.attempt(record)
        named = [(f"{job}/{attempt}", job, attempt) for job in record.id.keys]
        if record.number and record.id.keys == (record.number,):
            key = self.numbers.get(f"{record.number}/{attempt}", named[0][0])
            named = [(key, key.partition("/")[0], attempt)]
        elif record.number and len(named) == 1:
            self.numbers[f"{record.number}/{attempt}"] = named[0][0]
        self.seen.update(key for key, _, _ in named)
        return named

    # ------------------------------------------------------------------ in the queue

    def _waits(self, key: str, job: str, known: Attempt | None, record: JobRecord) -> None:
        if known is not None and known.phase != "waiting":
            return
        asked = self._submit(job, known, record)
        self.attempts[key] = Attempt("waiting", asked=asked, number=_number(record))

    def _submit(self, job: str, known: Attempt | None, record: JobRecord) -> str:
        """Tell what it asks for, or what of it changed; the terms as they are told then."""
        event = self._asked(job, record)
        asked = event.data.model_dump_json(exclude_defaults=True)
        if known is None:
            self.events.append(event)
        elif known.asked != asked:
            self._changed(job, JobSubmittedData.model_validate_json(known.asked), event.data, record)
        return asked

    def _asked(self, job: str, record: JobRecord) -> JobSubmitted:
        # Slurm gives no eligible time to what is held, depends on another job or is over its array's limit.
        waiting = record.state.phase == "pending"
        told = replace(record, held=record.held or (waiting and record.eligible_s is None))
        return self.reader.submission(told, record.gpus, self.reader.terms(record), self.config.cluster, job)

    def _changed(self, job: str, before: JobSubmittedData, now: JobSubmittedData, record: JobRecord) -> None:
        """Tell which terms changed: since when, where the release of a hold tells it, else that it is so now."""
        changes = {
            name: value
            for name in sorted(_CHANGES)
            if (value := getattr(now, name)) is not None and value != getattr(before, name)
        }
        if record.state.phase != "pending":  # of a job that has started, terms count no more; when it could have, does
            changes = {name: value for name, value in changes.items() if name in {"held", "eligible_from"}}
        if not changes:
            return
        at_s = self.at_s
        released_s = record.eligible_s
        if before.held and not now.held and released_s is not None and self.polled_s < released_s <= self.at_s:
            at_s = released_s
        data = JobUpdatedData.model_validate({"cluster": self.config.cluster, "job": job, **changes})
        time = instant(at_s)
        self.events.append(
            JobUpdated(id=event_id("update", job, time, data), source=self._source, time=time, data=data)
        )

    # ------------------------------------------------------------------ on GPUs

    def _runs(self, key: str, job: str, attempt: str, known: Attempt | None, record: JobRecord) -> None:
        if known is None or known.phase == "waiting":
            if record.start_s is None or not record.started:
                return
            asked = self._submit(job, known, record)
            self._start(job, attempt, record, record.start_s)
            known = Attempt("running", asked=asked, start_s=record.start_s, number=_number(record))
        pauses = self._follow(job, attempt, known, record)
        asked = self._held(job, known, record)
        self.attempts[key] = replace(known, pauses=pauses, unseen=0, asked=asked)

    def _held(self, job: str, known: Attempt, record: JobRecord) -> str:
        """Tell of a hold of what runs, once; its terms then. Slurm takes its eligible time away for good, and with it
        accounting loses it.
        """
        if record.eligible_s is not None:
            return known.asked
        before = JobSubmittedData.model_validate_json(known.asked)
        if before.held:
            return known.asked
        now = before.model_copy(update={"held": True})
        self._changed(job, before, now, record)
        return now.model_dump_json(exclude_defaults=True)

    def _start(self, job: str, attempt: str, record: JobRecord, start_s: int) -> None:
        placements = self.reader.placements(record, record.gpus, self.config.cluster)
        data = JobStartedData(cluster=self.config.cluster, job=job, attempt=attempt, placements=placements)
        time = instant(start_s)
        name = event_id("start", f"{job}.{attempt}", time, data)
        self.events.append(JobStarted(id=name, source=self._source, time=time, data=data))

    def _follow(self, job: str, attempt: str, known: Attempt, record: JobRecord) -> Pauses:
        """Tell how it was suspended and resumed since it was seen last; all its pauses."""
        lasts_since_s = known.pauses[-1][0] if known.pauses and known.pauses[-1][1] is None else None
        # What is cancelled while it is suspended is not resumed: Slurm dates its end back to the suspension.
        suspended = record.state.phase == "suspended" or (
            record.state.phase == "ended" and lasts_since_s is not None and lasts_since_s == record.changed_s
        )
        pauses = follow(
            known.pauses, known.start_s, suspended=suspended, changed_s=record.changed_s, ran_s=record.ran_s
        )
        for at_s, rank, suspends in turns(known.pauses, pauses):
            time = instant(at_s) + timedelta(microseconds=rank)
            name = f"{job}.{attempt}"
            if suspends:
                off = JobSuspendedData(cluster=self.config.cluster, job=job, attempt=attempt)
                id_ = event_id("suspend", name, time, off)
                self.events.append(JobSuspended(id=id_, source=self._source, time=time, data=off))
            else:
                on = AttemptData(cluster=self.config.cluster, job=job, attempt=attempt)
                id_ = event_id("resume", name, time, on)
                self.events.append(JobResumed(id=id_, source=self._source, time=time, data=on))
        return pauses

    # ------------------------------------------------------------------ over

    def _over(self, key: str, job: str, attempt: str, known: Attempt | None, record: JobRecord) -> None:
        """An end, told in as few words as will do: the end alone where all else is told already, else the whole run."""
        end_s, start_s = record.end_s, record.start_s
        if end_s is None or (known is None and end_s < self.since_s):
            return  # accounting has not caught up; or it is no part of what is told
        if not record.started or start_s is None:
            self._left(key, job, known, record)
            return
        suspended_s = _suspended_s(record, start_s, end_s)
        number = known.number if known is not None and known.number else _number(record)
        asked = (
            known.asked
            if known is not None and known.asked
            else self._asked(job, record).data.model_dump_json(exclude_defaults=True)
        )
        told = Attempt("ended", asked, start_s, end_s=end_s, suspended_s=suspended_s, number=number)
        if known is not None and known.phase == "ended":
            if replace(known, unseen=0, pauses=(), number=number) == told:
                return
            pauses = known.pauses
        elif known is not None and known.phase == "running" and known.start_s == start_s:
            pauses = self._follow(job, attempt, known, record) if record.elapsed_s is None else known.pauses
            if total_s(pauses, end_s) == suspended_s:
                self._end(job, attempt, record, end_s)
                self.attempts[key] = replace(told, pauses=pauses)
                return
        else:
            pauses = follow((), start_s, suspended=False, changed_s=record.changed_s, ran_s=record.ran_s)
        terms = _terms(JobSubmittedData.model_validate_json(asked))
        pauses = self._whole(job, attempt, record, terms, settle(pauses, start_s, end_s, suspended_s))
        self.attempts[key] = replace(told, pauses=pauses)

    def _end(self, job: str, attempt: str, record: JobRecord, end_s: int) -> None:
        outcome = record.state.outcome or "requeued"
        data = JobEndedData(
            cluster=self.config.cluster, job=job, attempt=attempt, outcome=outcome, exit_code=record.exit_code
        )
        time = instant(end_s)
        name = event_id("end", f"{job}.{attempt}", time, data)
        self.events.append(JobEnded(id=name, source=self._source, time=time, data=data))

    def _whole(self, job: str, attempt: str, record: JobRecord, terms: Terms, pauses: Pauses) -> Pauses:
        """Tell the whole run, with all its pauses, under the terms that were told: accounting may keep no comments."""
        stretches = tuple(Suspension(since=instant(a), until=None if b is None else instant(b)) for a, b in pauses)
        self.events.append(
            self.reader.run(record, record.gpus, terms, self.config.cluster, job, attempt, pauses=stretches)
        )
        return pauses

    def _left(self, key: str, job: str, known: Attempt | None, record: JobRecord) -> None:
        """It left the queue without having started."""
        if known is not None and known.phase != "waiting":
            return
        if known is None:
            self._submit(job, None, record)
        self.events.append(self.reader.left(record, self.config.cluster, job))
        self.attempts[key] = Attempt("ended", end_s=record.end_s or self.at_s, number=_number(record))

    # ------------------------------------------------------------------ not named any more

    def unseen(self, *, both_answered: bool) -> list[str]:
        """Count who was not named; what nobody knows of leaves the queue. Returns runs that nobody tells the end of."""
        doubts = []
        for key, known in list(self.attempts.items()):
            if known.phase == "ended" or key in self.seen or not both_answered:
                continue
            counted = self.attempts[key] = replace(known, unseen=known.unseen + 1)
            if counted.unseen < GONE_AFTER:
                continue
            if counted.phase == "running":
                doubts.append(key)
            else:
                self._vanish(key)
        return doubts

    def _vanish(self, key: str) -> None:
        """It waited, and is nowhere now: of a controller that lost its state, or a list of tasks that was cut short."""
        job = key.partition("/")[0]
        data = JobEndedData(cluster=self.config.cluster, job=job, outcome="cancelled")
        time = instant(self.at_s)
        self.events.append(JobEnded(id=event_id("end", job, time, data), source=self._source, time=time, data=data))
        self.attempts[key] = Attempt("ended", end_s=self.at_s)

    @property
    def _source(self) -> str:
        return self.config.source_name


def _terms(asked: JobSubmittedData) -> Terms:
    return Terms(asked.account, asked.min_runtime_s, asked.resumable, asked.kind, asked.priority)


def _number(record: JobRecord) -> str:
    """Slurm's own name of the job; '' for one that stands for several tasks."""
    return record.number if len(record.id.keys) == 1 else ""


def _suspended_s(record: JobRecord, start_s: int, end_s: int) -> int:
    """Seconds it did not run: its length less Elapsed, or as the controller counts them."""
    if record.elapsed_s is not None:
        return max(0, end_s - start_s - record.elapsed_s)
    if record.changed_s is None or record.changed_s <= start_s:
        return 0
    return max(0, record.changed_s - start_s - record.ran_s)


def in_time(events: Sequence[ClusterEvent]) -> list[ClusterEvent]:
    """By the second they are about; among equals as they were told."""
    return sorted(events, key=lambda event: epoch_s(event.time))
