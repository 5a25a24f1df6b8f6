"""From job records to events: one `run.observed` per attempt on GPUs; submissions and ends of what never started."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from ledger.events.jobs import (
    JobEnded,
    JobEndedData,
    JobSubmitted,
    JobSubmittedData,
    Outcome,
    Placement,
    RunObserved,
    RunObservedData,
    Shape,
    Suspension,
)
from ledger.units import epoch_s, instant
from streams.sources.config import SourceConfig
from streams.sources.identity import Seen, event_id
from streams.sources.placing import spread
from streams.sources.reading import Place, Reading, Refused, Skipped
from streams.sources.slurm.gres import Gpus
from streams.sources.slurm.record import JobRecord
from streams.sources.terms import Book, Labels, Terms
from streams.sources.text import visible

Event = RunObserved | JobSubmitted | JobEnded


@dataclass(slots=True)
class Reader:
    """Turns the records of one import into readings. `as_of_s` is the last instant the import knows of."""

    config: SourceConfig
    as_of_s: int = 0
    seen: Seen = field(default_factory=Seen)
    book: Book = field(init=False)

    def __post_init__(self) -> None:
        self.book = Book(self.config.rules, self.config.default_kind, self.config.comments)

    def reading(self, record: JobRecord, place: Place) -> Reading:
        """What becomes of the record. Raises Refused."""
        if record.id.step is not None:
            return Skipped("step", place)
        if record.state.revoked:
            return Skipped("ran_elsewhere", place)
        gpus = record.gpus
        if gpus.milli == 0:
            return Skipped("gpus_not_recorded" if record.gpus_unsaid else "job_without_gpus", place)
        if not record.started and record.state.phase in {"running", "suspended"}:
            raise Refused("no_start_time", "the job runs and the row has no Start: ask sacct for Start as well")
        cluster = visible(record.cluster or self.config.cluster)
        attempt = self.attempt(record)
        key = (cluster, record.id.keys[0], attempt)
        terms = self.terms(record)
        if record.started:
            events = tuple(self.run(record, gpus, terms, cluster, job, attempt) for job in record.id.keys)
            return self.seen.statement("run", key, events, place, terms.note)
        waiting = tuple(e for job in record.id.keys for e in self._waiting(record, gpus, terms, cluster, job))
        return self.seen.statement("job", key, waiting, place, terms.note)

    def attempt(self, record: JobRecord) -> str:
        """The SLUID if the configuration asks for it and there is one, else the submit time, else the start."""
        if self.config.attempt == "sluid" and record.sluid:
            return record.sluid
        at_s = record.submit_s if record.submit_s is not None else record.start_s
        if at_s is None:
            raise Refused(
                "no_submit_time",
                "the row has neither Submit nor Start, so its attempt has no name: ask sacct for both, "
                "as in --format=JobID,User,Account,State,Submit,Start,End,AllocTRES,ReqTRES,NodeList",
            )
        return str(at_s)

    def terms(self, record: JobRecord) -> Terms:
        """What the rules and its comment make of it."""
        labels = Labels(
            visible(record.account),
            visible(record.partition),
            visible(record.qos),
            visible(record.user),
            visible(record.reservation),
        )
        return self.book.terms(labels, visible(record.comment))

    def run(
        self,
        record: JobRecord,
        gpus: Gpus,
        terms: Terms,
        cluster: str,
        job: str,
        attempt: str,
        pauses: tuple[Suspension, ...] | None = None,
    ) -> RunObserved:
        """The whole run. `pauses`, if given, are all there were; else the record's own say counts. Raises Refused."""
        start_s = _start(record)
        end_s = _end(record, start_s)
        data = RunObservedData(
            cluster=cluster,
            job=job,
            attempt=attempt,
            user=visible(record.user) or "unknown",
            account=terms.account,
            kind=terms.kind,
            min_runtime_s=terms.min_runtime_s,
            resumable=terms.resumable,
            priority=terms.priority,
            gang=record.id.gang,
            gpu_type=gpus.gpu_type or self.config.gpu_type,
            time_limit_s=record.time_limit_s,
            submitted_at=_at(record.submit_s),
            eligible_at=_at(record.eligible_s),
            started_at=instant(start_s),
            ended_at=_at(end_s),
            placements=self.placements(record, gpus, cluster),
            suspensions=_suspensions(record) if pauses is None else pauses,
            suspended_s=0
            if pauses is not None
            else _suspended_s(record, start_s, end_s if end_s is not None else self.as_of_s),
            outcome=_outcome(record) if end_s is not None else None,
            exit_code=record.exit_code if end_s is not None else None,
        )
        time = instant(end_s if end_s is not None else max(self.as_of_s, start_s))
        return RunObserved(
            id=event_id("run", f"{job}.{attempt}", time, data),
            source=self.config.source_name,
            time=time,
            data=data,
        )

    def placements(self, record: JobRecord, gpus: Gpus, cluster: str) -> tuple[Placement, ...]:
        """What it holds where."""
        if record.per_node:
            return tuple(
                Placement(node=visible(node), gpus_milli=part.milli, gpu_indices=part.indices)
                for node, part in record.per_node
                if part.milli
            )
        nodes = tuple(visible(node) for node in record.nodes)
        return spread(nodes or (f"{cluster}-unplaced",), gpus.milli)

    def _waiting(self, record: JobRecord, gpus: Gpus, terms: Terms, cluster: str, job: str) -> list[Event]:
        submitted = self.submission(record, gpus, terms, cluster, job)
        if record.state.phase != "ended":
            return [submitted]
        return [submitted, self.left(record, cluster, job)]

    def submission(self, record: JobRecord, gpus: Gpus, terms: Terms, cluster: str, job: str) -> JobSubmitted:
        """What it asks for. Raises Refused."""
        if record.submit_s is None:
            raise Refused("no_submit_time", "the job never started and has no Submit: ask sacct for Submit as well")
        data = JobSubmittedData(
            cluster=cluster,
            job=job,
            user=visible(record.user) or "unknown",
            account=terms.account,
            gpus_milli=gpus.milli,
            shape=_shape(record.node_count, gpus),
            gpu_type=gpus.gpu_type or self.config.gpu_type,
            min_runtime_s=terms.min_runtime_s,
            resumable=terms.resumable,
            priority=terms.priority,
            kind=terms.kind,
            gang=record.id.gang,
            time_limit_s=record.time_limit_s,
            eligible_from=_at(record.eligible_s),
            held=record.held or record.state.held,
        )
        time = instant(record.submit_s)
        return JobSubmitted(id=event_id("job", job, time, data), source=self.config.source_name, time=time, data=data)

    def left(self, record: JobRecord, cluster: str, job: str) -> JobEnded:
        """Its place in the queue is given up. Raises Refused."""
        if record.end_s is None:
            raise _no_end(record)
        time = instant(max(record.end_s, record.submit_s or 0))
        data = JobEndedData(cluster=cluster, job=job, outcome=_outcome(record), exit_code=record.exit_code)
        return JobEnded(id=event_id("end", job, time, data), source=self.config.source_name, time=time, data=data)


def as_of(config: SourceConfig, stated_s: int | None, records: list[JobRecord]) -> int:
    """The last instant an import knows of: as configured, as the file states, or the greatest in its records."""
    if config.snapshot_at is not None:
        return epoch_s(config.snapshot_at)
    return stated_s if stated_s is not None else max((r.latest_s() for r in records), default=0)


def _at(second: int | None) -> datetime | None:
    return None if second is None else datetime.fromtimestamp(second, tz=UTC)


def _start(record: JobRecord) -> int:
    if record.start_s is None:
        raise Refused("no_start_time", "the job ran, and the row has no Start: ask sacct for Start as well")
    return record.start_s


def _end(record: JobRecord, start_s: int) -> int | None:
    """The end of a run that is over, None while it runs."""
    if not record.over:
        return None
    if record.end_s is None:
        raise _no_end(record)
    if record.end_s < start_s:
        raise Refused(
            "end_before_start",
            f"the run ends {start_s - record.end_s} s before it starts; correct the record at its source, "
            "or check that one time zone holds for the whole file",
        )
    return record.end_s


def _suspended_s(record: JobRecord, start_s: int, until_s: int) -> int:
    """Seconds it did not run: of a run that is over, its length less Elapsed, which leaves them out."""
    known_s = (
        until_s - start_s - record.elapsed_s if record.over and record.elapsed_s is not None else record.suspended_s
    )
    return max(0, min(known_s, until_s - start_s))


def _no_end(record: JobRecord) -> Refused:
    return Refused(
        "ended_without_end",
        f"the job is over ({record.state.outcome or 'requeued'}) and its End is unknown: accounting had not caught up; "
        "read it again a minute later, or run `sacctmgr show runawayjobs` if it stays so",
    )


def _outcome(record: JobRecord) -> Outcome:
    return record.state.outcome or "requeued"


def _suspensions(record: JobRecord) -> tuple[Suspension, ...] | None:
    if record.suspended_since_s is None:
        return None
    return (Suspension(since=instant(record.suspended_since_s)),)


def _shape(nodes: int, gpus: Gpus) -> Shape | None:
    """Nodes × GPUs per node where the request divides evenly."""
    if nodes < 1 or gpus.milli % nodes:
        return None
    return Shape(nodes=nodes, gpus_per_node_milli=gpus.milli // nodes)
