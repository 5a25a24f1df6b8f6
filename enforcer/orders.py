"""What the enforcer orders, and the port through which a scheduler is told. Values and a protocol; no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

ACCEPTED: Final = "accepted"
"""The scheduler took it; whether it came to pass is asked by `left`."""
LEFT: Final = "left"
RUNNING: Final = "running"
GONE: Final = "gone"
"""Nothing to do any more: the run is over, another attempt runs, or the asker no longer waits."""
REFUSED: Final = "refused"
UNREACHABLE: Final = "unreachable"
"""Nobody knows what happened: ask again."""


@dataclass(frozen=True, slots=True)
class Order:
    """One run that has to leave.

    `grace_s` is the time between the signal and the cancelling of a run that is not requeued; the caller counts it.
    `why` is one sentence for the run's user, put where the scheduler shows it.
    """

    cluster: str
    plan: str
    job: str
    attempt: str
    how: Literal["requeue", "cancel"]
    grace_s: int
    nodes: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Nodes kept for an asker, as (node, milli-GPUs), at most until an instant in epoch seconds."""

    cluster: str
    plan: str
    asker_job: str
    nodes: tuple[tuple[str, int], ...]
    until_s: int


class Outcome(NamedTuple):
    """What became of a call, and a sentence that a person can act on."""

    name: str
    sentence: str


def nothing_held(handle: str) -> Outcome:
    """What a scheduler that keeps no nodes says when they are let go."""
    return Outcome(ACCEPTED, f"Nothing is held{' as ' + handle if handle else ''}.")


class Actuator(Protocol):
    """A scheduler, told what to do. Calls block, for a limited time; what the scheduler says is never raised."""

    def preempt(self, order: Order) -> Outcome:
        """Begin to make a run leave: accepted, gone, refused, unreachable. Once is as often, by (job, attempt)."""
        ...

    def left(self, order: Order) -> Outcome:
        """Whether the run holds GPUs no more: left, running, unreachable."""
        ...

    def kill(self, order: Order) -> Outcome:
        """After the grace, the hard way: accepted, gone, refused, unreachable."""
        ...

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """Keep nodes for the asker: accepted, gone, refused, unreachable; and the handle, '' where there is none.

        Once is as often, by plan: a hold that the scheduler has forgotten is made again.
        """
        ...

    def release(self, handle: str) -> Outcome:
        """Let the nodes go; the asker stays as it is. A hold that is no more is accepted."""
        ...
