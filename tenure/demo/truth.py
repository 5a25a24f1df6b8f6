"""What really happened, before anybody reported it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ledger.events.jobs import Outcome
from ledger.events.nodes import NodeState
from tenure.demo.jobs import Job


@dataclass(frozen=True, slots=True)
class Part:
    """Whole GPUs of one node, by index."""

    node: str
    gpu_indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """The run stood still in [since_s, until_s); `until_s` is None while it lasts."""

    since_s: int
    until_s: int | None
    releases_gpus: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run: [started_s, ended_s), still running if `ended_s` is None; `final` if the job ended with it.

    It was queued at `queued_s`, by which it is named, and could start from `eligible_s`.
    """

    job: Job
    queued_s: int
    eligible_s: int
    started_s: int
    ended_s: int | None
    parts: tuple[Part, ...]
    stops: tuple[Stop, ...]
    checkpoints_s: tuple[int, ...]
    outcome: Outcome | None
    final: bool

    @property
    def name(self) -> str:
        return str(self.queued_s)


@dataclass(frozen=True, slots=True)
class Requeue:
    """The job waits again from `at_s`, and may start from `eligible_s`."""

    job: Job
    at_s: int
    eligible_s: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The owner gave up on a job in the queue."""

    job: Job
    at_s: int


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node's state from `at_s` on."""

    at_s: int
    node: str
    gpu_type: str
    state: NodeState | Literal["removed"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything the simulation decided, each kind in order of time (attempts: of start)."""

    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]
    requeues: tuple[Requeue, ...]
    cancelled: tuple[Cancelled, ...]
    nodes: tuple[NodeChange, ...]
