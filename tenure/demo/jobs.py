"""A job of the demo: what its owner asks for, and what will become of it."""

from __future__ import annotations

from dataclasses import dataclass

from ledger.events.jobs import JobKind, Outcome


@dataclass(frozen=True, slots=True)
class Ask:
    """What the owner states: whole GPUs, seconds, and the pool only if they care."""

    user: str
    account: str | None
    gpu_type: str | None
    nodes: int
    gpus_per_node: int
    min_runtime_s: int
    resumable: bool
    priority: int
    kind: JobKind
    time_limit_s: int


@dataclass(frozen=True, slots=True)
class Pause:
    """A suspension, `after_s` of running into an attempt."""

    after_s: int
    lasts_s: int
    releases_gpus: bool


@dataclass(frozen=True, slots=True)
class Nature:
    """What nobody knows at submission.

    `work_s` is the running time it needs; at `fate_at_s` of progress it ends as `fate`. Checkpoints come
    every `checkpoint_s` (0: never), the owner gives up after `patience_s` in the queue, and from
    `idle_from_s` of running its GPUs do nothing (None: they work, at about `utilization_pct`).
    """

    work_s: int
    fate: Outcome
    fate_at_s: int
    checkpoint_s: int
    patience_s: int
    pause: Pause | None
    requeued_after_s: int | None
    idle_from_s: int | None
    utilization_pct: float


@dataclass(frozen=True, slots=True)
class Job:
    """One submission: it can run in `pool` from `eligible_s`; `held` until then if a person said so."""

    number: int
    ask: Ask
    nature: Nature
    pool: str
    submit_s: int
    eligible_s: int
    held: bool
    funded: bool

    @property
    def job(self) -> str:
        return str(self.number)

    @property
    def gpus(self) -> int:
        return self.ask.nodes * self.ask.gpus_per_node
