"""Jobs of a CSV to readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ledger.events.faults import told_of
from ledger.events.jobs import (
    JobEnded,
    JobEndedData,
    JobSubmitted,
    JobSubmittedData,
    Outcome,
    RunObserved,
    RunObservedData,
)
from ledger.units import instant
from streams.sources.files.mapping import FilesMapping, StateMeaning
from streams.sources.files.rows import Job
from streams.sources.identity import Seen, event_id
from streams.sources.placing import spread
from streams.sources.reading import Reading, Refused, Skipped, Unreadable
from streams.sources.terms import Book


@dataclass(slots=True)
class Reader:
    """Turns the jobs of one file into readings."""

    mapping: FilesMapping
    as_of_s: int
    seen: Seen = field(default_factory=Seen)
    book: Book = field(init=False)

    def __post_init__(self) -> None:
        self.book = Book(self.mapping.rules, self.mapping.default_kind)

    def safely(self, job: Job) -> Reading:
        """The job's reading; a refusal becomes a dead letter."""
        try:
            return self._reading(job)
        except Refused as refused:
            return Unreadable(refused.reason, refused.sentence, job.raw, job.place)
        except ValueError as wrong:
            return Unreadable(
                "values_not_accepted", f"a value does not fit an event: {told_of(wrong)}", job.raw, job.place
            )

    def _reading(self, job: Job) -> Reading:
        if job.gpus_milli == 0:
            return Skipped("job_without_gpus", job.place)
        at_s = job.submit_s if job.submit_s is not None else job.start_s
        if at_s is None:
            raise Refused("no_submit_time", "the row has neither a submit time nor a start: correct it")
        key = (self.mapping.cluster, job.key, str(at_s))
        if job.start_s is None or job.meaning == "pending":
            return self.seen.statement("job", key, self._waiting(job, at_s), job.place)
        return self.seen.statement("run", key, (self._run(job, str(at_s), job.start_s),), job.place)

    def _run(self, job: Job, attempt: str, start_s: int) -> RunObserved:
        end_s = self._ended_s(job, start_s)
        terms = self.book.terms(job.labels)
        nodes = job.nodes or (self.mapping.virtual_node or f"{self.mapping.cluster}-unplaced",)
        data = RunObservedData(
            cluster=self.mapping.cluster,
            job=job.key,
            attempt=attempt,
            user=job.user,
            account=terms.account,
            kind=terms.kind,
            min_runtime_s=terms.min_runtime_s,
            resumable=terms.resumable,
            priority=terms.priority,
            gpu_type=job.gpu_type,
            time_limit_s=job.time_limit_s,
            submitted_at=_at(job.submit_s),
            eligible_at=_at(job.eligible_s),
            started_at=instant(start_s),
            ended_at=_at(end_s),
            placements=spread(nodes, job.gpus_milli),
            suspended_s=job.suspended_s,
            outcome=_outcome(job.meaning) if end_s is not None else None,
            exit_code=job.exit_code if end_s is not None else None,
        )
        time = instant(end_s if end_s is not None else max(self.as_of_s, start_s))
        name = f"{job.key}.{attempt}"
        return RunObserved(id=event_id("run", name, time, data), source=self.mapping.source_name, time=time, data=data)

    def _ended_s(self, job: Job, start_s: int) -> int | None:
        """The end; None while it runs. What runs at the file's last instant was cut off there, it did not end."""
        if job.end_s is None:
            if job.meaning == "running" or self.mapping.missing_end == "running":
                return None
            raise Refused(
                "ended_without_end",
                "the row has a start and no end: add the end, or set missing_end = 'running' if such jobs still run",
            )
        if job.end_s < start_s:
            raise Refused("end_before_start", f"the row ends {start_s - job.end_s} s before it starts: correct it")
        return None if job.meaning == "running" and job.end_s >= self.as_of_s else job.end_s

    def _waiting(self, job: Job, submit_s: int) -> tuple[JobSubmitted | JobEnded, ...]:
        terms = self.book.terms(job.labels)
        data = JobSubmittedData(
            cluster=self.mapping.cluster,
            job=job.key,
            user=job.user,
            account=terms.account,
            gpus_milli=job.gpus_milli,
            gpu_type=job.gpu_type,
            min_runtime_s=terms.min_runtime_s,
            resumable=terms.resumable,
            priority=terms.priority,
            kind=terms.kind,
            time_limit_s=job.time_limit_s,
            eligible_from=_at(job.eligible_s),
        )
        time, source = instant(submit_s), self.mapping.source_name
        submitted = JobSubmitted(id=event_id("job", job.key, time, data), source=source, time=time, data=data)
        if job.end_s is None:
            return (submitted,)
        left = instant(max(job.end_s, submit_s))
        outcome = _outcome(job.meaning) or "cancelled"
        end = JobEndedData(cluster=self.mapping.cluster, job=job.key, outcome=outcome)
        return (
            submitted,
            JobEnded(id=event_id("end", job.key, left, end), source=source, time=left, data=end),
        )


def _outcome(meaning: StateMeaning | None) -> Outcome | None:
    match meaning:
        case None | "running" | "pending":
            return None
        case _:
            return meaning


def _at(second: int | None) -> datetime | None:
    return None if second is None else instant(second)
