"""What is done to a Slurm, whichever way it is told: by its commands (`slurm_cli`) or by slurmrestd (`slurm_rest`).

Nothing is done to a job before it was looked at: a requeue of a job that has ended would run it again, and a cancel of
one that was requeued would cancel the attempt that waits. Attempts are told apart by their submit time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, assert_never

from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order, Outcome

ON_NODES: Final = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "SIGNALING", "STAGE_OUT"})
ENDING: Final = "COMPLETING"
_NO_ANSWER: Final = re.compile(
    "Unable to contact|Unexpected message received|Unspecified error|timed out|Connection refused|Zero Bytes",
    re.IGNORECASE,
)
_HINTS: Final = {
    "Requested operation is presently disabled": "it was submitted with --no-requeue, or JobRequeue=0",
    "Access/permission denied": "Tenure has to be an operator: sacctmgr modify user NAME set AdminLevel=Operator",
    "overlaps with another reservation": "an earlier reservation keeps some of these nodes",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A job as Slurm shows it now: its states, when it was submitted and started (epoch seconds as text)."""

    job: str
    states: frozenset[str]
    submit: str
    start: str
    user: str
    reservation: str
    note: str

    def is_attempt(self, attempt: str) -> bool:
        """Whether this is the attempt the order means; a record without a submit time is named by its start."""
        return attempt in {self.submit, self.start}


class Failed(NamedTuple):
    """Why a call came to nothing: `refused` by Slurm, or `unreachable`."""

    name: str
    sentence: str


class Client(Protocol):
    """The calls to Slurm that the actuator is made of; None where one succeeded."""

    def look(self, job: str, /) -> Row | Failed | None:
        """The job now; None if Slurm does not know it any more."""
        ...

    def requeue(self, job: str, /) -> Failed | None:
        """End it and let it wait again; a job that has ended stays as it is."""
        ...

    def signal(self, job: str, /) -> Failed | None:
        """Warn the batch script and all steps."""
        ...

    def cancel(self, job: str, state: str, /) -> Failed | None:
        """End it if it is in that state still: SIGTERM, and SIGKILL after KillWait."""
        ...

    def note(self, job: str, text: str, /) -> Failed | None:
        """Put a sentence where the user sees it."""
        ...


class Reservations(Protocol):
    """The calls that keep nodes for a job; None where one succeeded."""

    def reserve(self, name: str, nodes: tuple[str, ...], user: str, until_s: int, /) -> Failed | None:
        """Keep nodes; a reservation of that name that exists is as good."""
        ...

    def assign(self, job: str, reservation: str, /) -> Failed | None:
        """Let a job use a reservation; '' for none."""
        ...

    def assigned(self, reservation: str, /) -> tuple[str, ...] | Failed:
        """The jobs that use a reservation."""
        ...

    def unreserve(self, name: str, /) -> Failed | None:
        """Give nodes up; one that does not exist is as good."""
        ...


class Slurm:
    """An actuator for Slurm, where it has to be an operator. Without `reservations` it refuses to hold nodes."""

    def __init__(self, client: Client, reservations: Reservations | None = None) -> None:
        self._client = client
        self._reservations = reservations
        self._signalled: set[tuple[str, str]] = set()

    def preempt(self, order: Order) -> Outcome:
        """Requeue, or signal, or cancel where there is no grace."""
        return self._make_leave(order, self._cancel_gently if order.grace_s else self._cancel)

    def left(self, order: Order) -> Outcome:
        """A run that is ending holds its GPUs until its last process is gone."""
        row = self._on_nodes(order)
        if isinstance(row, Row):
            state = "ending" if ENDING in row.states else "running"
            return Outcome(RUNNING, f"Job {order.job} is {state}.")
        return Outcome(LEFT, row.sentence) if row.name == GONE else row

    def kill(self, order: Order) -> Outcome:
        """Cancel, or requeue again; Slurm kills by itself, KillWait after that, what ignores SIGTERM."""
        return self._make_leave(order, self._cancel)

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """Whole nodes, by a reservation for the asker's user that the asker is told to use."""
        if self._reservations is None:
            return Outcome(REFUSED, "Nodes are held by reservations, which only Slurm's own commands make."), ""
        row = self._client.look(hold.asker_job)
        if isinstance(row, Failed):
            return Outcome(*row), ""
        if row is None or "PENDING" not in row.states:
            return Outcome(GONE, f"Job {hold.asker_job} does not wait any more."), ""
        name = reservation(hold.plan)
        if row.reservation not in {"", name}:
            return Outcome(REFUSED, f"Job {hold.asker_job} asks for the reservation {row.reservation} itself."), ""
        failed = self._reservations.reserve(name, tuple(node for node, _ in hold.nodes), row.user, hold.until_s)
        if failed is not None:
            return Outcome(*failed), ""
        failed = self._reservations.assign(hold.asker_job, name)
        if failed is not None:
            self._reservations.unreserve(name)
            return Outcome(*failed), name if failed.name == UNREACHABLE else ""
        return Outcome(ACCEPTED, f"The reservation {name} keeps the nodes for job {hold.asker_job}."), name

    def release(self, handle: str) -> Outcome:
        """Take the reservation from its jobs, then delete it: while it is in use, Slurm refuses."""
        if not handle or self._reservations is None:
            return Outcome(ACCEPTED, "Nothing is held.")
        jobs = self._reservations.assigned(handle)
        if isinstance(jobs, Failed):
            return Outcome(*jobs)
        for job in jobs:
            self._reservations.assign(job, "")  # one that ended meanwhile is in no one's way
        failed = self._reservations.unreserve(handle)
        return Outcome(*failed) if failed else Outcome(ACCEPTED, f"The reservation {handle} is no more.")

    def _make_leave(self, order: Order, cancel: Callable[[Order, Row], Outcome]) -> Outcome:
        row = self._on_nodes(order)
        if isinstance(row, Outcome):
            return row
        if ENDING in row.states:
            return Outcome(ACCEPTED, f"Job {order.job} is ending already.")
        match order.how:
            case "requeue":
                return self._told(order, self._client.requeue, f"Slurm requeues job {order.job}.")
            case "cancel":
                return cancel(order, row)
            case _ as never:
                assert_never(never)

    def _on_nodes(self, order: Order) -> Row | Outcome:
        """The row of the attempt that is meant if it holds GPUs, else `gone` or `unreachable`."""
        row = self._client.look(order.job)
        if row is None:
            return Outcome(GONE, f"Slurm does not know job {order.job} any more.")
        if isinstance(row, Failed):
            return Outcome(*row)
        if not row.is_attempt(order.attempt):
            return Outcome(GONE, f"Attempt {order.attempt} of job {order.job} is over; another has begun.")
        if not row.states & (ON_NODES | {ENDING}):
            return Outcome(GONE, f"Job {order.job} is {' '.join(sorted(row.states)).lower()}.")
        return row

    def _cancel_gently(self, order: Order, row: Row) -> Outcome:
        key, mark = (order.job, order.attempt), _mark(order)
        sentence = f"Job {order.job} was signalled and has {order.grace_s} s."
        if key in self._signalled or mark in row.note:
            return Outcome(ACCEPTED, sentence)
        self._client.note(order.job, order.why)
        failed = self._client.signal(order.job)
        if failed is not None:
            return Outcome(*failed)
        self._signalled.add(key)
        # Only now, so that a warning is given twice rather than never should this process end in between.
        self._client.note(order.job, f"{order.why} {mark}")
        return Outcome(ACCEPTED, sentence)

    def _cancel(self, order: Order, row: Row) -> Outcome:
        state = "SUSPENDED" if "SUSPENDED" in row.states else "RUNNING"
        return self._told(order, lambda job: self._client.cancel(job, state), f"Slurm cancels job {order.job}.")

    def _told(self, order: Order, call: Callable[[str], Failed | None], sentence: str) -> Outcome:
        """The reason first: a job that has ended takes none."""
        noted = self._client.note(order.job, order.why)
        failed = call(order.job)
        if failed is not None:
            return Outcome(*failed)
        return Outcome(ACCEPTED, f"{sentence} Slurm does not show why: {noted.sentence}" if noted else sentence)


def failed(said: str) -> Failed:
    """What Slurm's own words mean. Of a slurmctld that is away 22.05 says `Unexpected message received` to some calls,
    and slurmrestd `Unspecified error`.
    """
    if _NO_ANSWER.search(said):
        return Failed(UNREACHABLE, f"slurmctld does not answer: {said}")
    hint = next((f" ({hint})" for words, hint in _HINTS.items() if words in said), "")
    return Failed(REFUSED, f"Slurm refused: {said}{hint}")


def reservation(plan: str) -> str:
    """The name of a plan's reservation; plans are named with signs that Slurm does not take."""
    return f"tenure_{hashlib.blake2b(plan.encode(), digest_size=6).hexdigest()}"


def _mark(order: Order) -> str:
    return f"[tenure {order.plan} {order.attempt}]"
