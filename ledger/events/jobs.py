"""What is said of jobs and of their runs. A run is one attempt of a job on GPUs: (cluster, job, attempt)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from ledger.events.envelope import (
    MOST_MILLI,
    AccountPath,
    AttemptToken,
    ClusterData,
    Data,
    Envelope,
    GpuType,
    Milli,
    Name,
    PositiveMilli,
    Seconds,
)

JobKind = Literal["batch", "session", "debug"]
Outcome = Literal[
    "succeeded",
    "failed",
    "cancelled",
    "timeout",
    "out_of_memory",
    "node_failure",
    "preempted",
    "requeued",
]


class Shape(Data):
    """What a job needs at once: `nodes` nodes with `gpus_per_node_milli` each."""

    nodes: Annotated[int, Field(ge=1, le=100_000)]
    gpus_per_node_milli: PositiveMilli


class Placement(Data):
    """The part of a run on one node; `gpu_indices` where the source knows them."""

    node: Name
    gpus_milli: PositiveMilli
    gpu_indices: tuple[int, ...] | None = None


def _a_million_gpus_at_most(placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """Sums of an hour must fit 64 bits, so one run holds no more than a node may have, as each placement does."""
    if len(placements) > 1 and sum(p.gpus_milli for p in placements) > MOST_MILLI:
        msg = "the placements hold more than a million GPUs together: is `gpus_milli` in milli-GPUs?"
        raise ValueError(msg)
    return placements


Placements = Annotated[tuple[Placement, ...], Field(min_length=1), AfterValidator(_a_million_gpus_at_most)]


class JobSubmittedData(ClusterData):
    """A full statement of a job as asked for. `min_runtime_s` 0 means unfunded; no `shape` means any placement."""

    job: Name
    user: Name
    account: AccountPath | None = None
    gpus_milli: Milli
    shape: Shape | None = None
    gpu_type: GpuType | None = None
    min_runtime_s: Seconds = 0
    resumable: bool = False
    priority: int = 0
    kind: JobKind = "batch"
    gang: Name | None = None
    time_limit_s: Seconds | None = None
    eligible_from: AwareDatetime | None = None
    held: bool = False


class JobSubmitted(Envelope):
    """`tenure.job.submitted.v1`."""

    type: Literal["tenure.job.submitted.v1"] = "tenure.job.submitted.v1"
    data: JobSubmittedData


class JobUpdatedData(ClusterData):
    """A partial statement: only the fields that are present changed. Terms count for the next attempt."""

    job: Name
    account: AccountPath | None = None
    gpus_milli: Milli | None = None
    shape: Shape | None = None
    gpu_type: GpuType | None = None
    min_runtime_s: Seconds | None = None
    resumable: bool | None = None
    priority: int | None = None
    time_limit_s: Seconds | None = None
    eligible_from: AwareDatetime | None = None
    held: bool | None = None


class JobUpdated(Envelope):
    """`tenure.job.updated.v1`."""

    type: Literal["tenure.job.updated.v1"] = "tenure.job.updated.v1"
    data: JobUpdatedData


class JobStartedData(ClusterData):
    """The attempt holds its placements from `time` on."""

    job: Name
    attempt: AttemptToken
    placements: Placements


class JobStarted(Envelope):
    """`tenure.job.started.v1`."""

    type: Literal["tenure.job.started.v1"] = "tenure.job.started.v1"
    data: JobStartedData


class JobSuspendedData(ClusterData):
    """The attempt stopped running at `time`; its GPUs stay taken unless the source says they are released."""

    job: Name
    attempt: AttemptToken
    releases_gpus: bool = False


class JobSuspended(Envelope):
    """`tenure.job.suspended.v1`."""

    type: Literal["tenure.job.suspended.v1"] = "tenure.job.suspended.v1"
    data: JobSuspendedData


class AttemptData(ClusterData):
    """Names one attempt of one job."""

    job: Name
    attempt: AttemptToken


class JobResumed(Envelope):
    """`tenure.job.resumed.v1`."""

    type: Literal["tenure.job.resumed.v1"] = "tenure.job.resumed.v1"
    data: AttemptData


class JobCheckpointed(Envelope):
    """`tenure.job.checkpointed.v1`: progress up to `time` is banked."""

    type: Literal["tenure.job.checkpointed.v1"] = "tenure.job.checkpointed.v1"
    data: AttemptData


class JobEndedData(ClusterData):
    """The attempt ended at `time`; without `attempt` the job ended (its last attempt, or its place in the queue)."""

    job: Name
    attempt: AttemptToken | None = None
    outcome: Outcome
    exit_code: int | None = None


class JobEnded(Envelope):
    """`tenure.job.ended.v1`."""

    type: Literal["tenure.job.ended.v1"] = "tenure.job.ended.v1"
    data: JobEndedData


class Suspension(Data):
    """One interval [since, until) in which the run did not run; `until` absent while it lasts."""

    since: AwareDatetime
    until: AwareDatetime | None = None
    releases_gpus: bool = False


class RunObservedData(ClusterData):
    """A full statement of one run as an accounting system reports it at `time`.

    Without `ended_at` the run was still running then. `suspended_s` is a bare total, used only where
    `suspensions` is absent: it is then placed just before the end and the run is flagged.
    """

    job: Name
    attempt: AttemptToken
    user: Name
    account: AccountPath | None = None
    kind: JobKind = "batch"
    min_runtime_s: Seconds = 0
    resumable: bool = False
    priority: int = 0
    gang: Name | None = None
    gpu_type: GpuType | None = None
    time_limit_s: Seconds | None = None
    submitted_at: AwareDatetime | None = None
    eligible_at: AwareDatetime | None = None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    placements: Placements
    suspensions: tuple[Suspension, ...] | None = None
    suspended_s: Seconds = 0
    outcome: Outcome | None = None
    exit_code: int | None = None

    @model_validator(mode="after")
    def _ends_after_start(self) -> RunObservedData:
        if self.ended_at is not None and self.ended_at < self.started_at:
            msg = "end_before_start: the run ends before it starts; correct the record at its source and send it again"
            raise ValueError(msg)
        return self


class RunObserved(Envelope):
    """`tenure.run.observed.v1`."""

    type: Literal["tenure.run.observed.v1"] = "tenure.run.observed.v1"
    data: RunObservedData
