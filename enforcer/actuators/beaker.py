"""Beaker told by its gRPC: one job is preempted, and Beaker itself ends it and queues it again.

An attempt is a Beaker job; a job is what attempts have in common, the id of their task, environment or workload.
Written from the stubs of `beaker-py` and what is published about Beaker, and tested against a fake of it. Nodes are not
held: Beaker places jobs by its own order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

import grpc
from beaker import beaker_pb2 as pb
from beaker.beaker_pb2_grpc import BeakerStub

from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order, Outcome, nothing_held

_OWN: Final = ("grpc.use_local_subchannel_pool", 1)
"""Or another cluster's connection to the same Beaker, and its waiting after a failure, would be shared."""

Said = TypeVar("Said")

_AGAIN: Final = frozenset(
    {
        grpc.StatusCode.ABORTED,  # a transaction that met another: rolled back
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.UNKNOWN,
    }
)
_HINTS: Final = {
    grpc.StatusCode.UNAUTHENTICATED: "look at token_file",
    grpc.StatusCode.PERMISSION_DENIED: "the token's user has to be allowed to preempt others' jobs",
    grpc.StatusCode.UNIMPLEMENTED: "this Beaker and the installed beaker-py do not fit",
}


class Failed(NamedTuple):
    """Why a call came to nothing: `gone`, `refused` or `unreachable`."""

    name: str
    sentence: str


class Rpc:
    """A Beaker at `https://host:port`, or without TLS at `http://host:port`; `roots` are its authorities, as PEM.

    A connection lasts for one call: where a server was away, one that is kept refuses calls for a while.
    """

    def __init__(self, address: str, token: str, *, roots: bytes | None = None, timeout_s: float = 30.0) -> None:
        self._address = address
        self._token = token
        self._roots = roots
        self._timeout_s = timeout_s

    def look(self, job: str) -> pb.Job | Failed:
        """A job as it is now."""
        request = pb.GetJobRequest(job_id=job)
        said: pb.GetJobResponse | Failed = self._ask(lambda stub: stub.GetJob, request)
        return said if isinstance(said, Failed) else said.job

    def preempt(self, job: str, why: str) -> Failed | None:
        """End it for somebody else's sake; its user is shown why."""
        code = pb.CANCELATION_CODE_USER_PREEMPTION
        request = pb.PreemptJobRequest(job_id=job, canceled_for=why, canceled_code=code)
        said: pb.PreemptJobResponse | Failed = self._ask(lambda stub: stub.PreemptJob, request)
        return said if isinstance(said, Failed) else None

    def _ask(self, method: Callable[[BeakerStub], Callable[..., Said]], request: object) -> Said | Failed:
        who = (("authorization", f"bearer {self._token}"),)
        try:
            with self._channel() as channel:
                stub = BeakerStub(channel)  # type: ignore[no-untyped-call] # generated, without types
                return method(stub)(request, timeout=self._timeout_s, metadata=who)
        except grpc.RpcError as error:
            return failed(self._address, error.code(), error.details())

    def _channel(self) -> grpc.Channel:
        parts = urlsplit(self._address)
        if parts.scheme == "http":
            return grpc.insecure_channel(parts.netloc, [_OWN, ("grpc.enable_http_proxy", 0)])
        server = parts.netloc if parts.port else f"{parts.netloc}:443"
        return grpc.secure_channel(server, grpc.ssl_channel_credentials(self._roots), [_OWN])


class Beaker:
    """An actuator for Beaker."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc

    def preempt(self, order: Order) -> Outcome:
        """Whether it is queued again is for Beaker to say, by the job's `auto_resume`."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        if any(found.status.HasField(end) for end in ("canceled", "exited", "failed")):
            return Outcome(ACCEPTED, f"Job {order.attempt} is ending already.")
        again = found.system_details.auto_resume
        if order.how == "requeue" and not again:
            sentence = f"Beaker does not queue job {order.attempt} again: it was submitted without auto_resume."
            return Outcome(REFUSED, sentence)
        told = self._rpc.preempt(order.attempt, order.why)
        if told is not None:
            return Outcome(*told)
        then = "Beaker queues its task again" if again else "it is not queued again"
        return Outcome(ACCEPTED, f"Job {order.attempt} is preempted, and {then}.")

    def left(self, order: Order) -> Outcome:
        """A job is finalized once its results are stored, minutes after it exited and gave its slots back."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found._replace(name=LEFT if found.name == GONE else UNREACHABLE)
        if found.status.HasField("exited") and not found.assignment_details.occupied_slots_count:
            return Outcome(LEFT, f"Job {order.attempt} has exited and occupies no slots.")
        return Outcome(RUNNING, f"Job {order.attempt} is {_named(found)}.")

    def kill(self, order: Order) -> Outcome:
        """There is no such call; to cancel its workload would end other tasks, too, and for good."""
        found = self._look(order)
        if isinstance(found, Outcome):
            return found
        sentence = f"Beaker ends job {order.attempt} when its own grace period is over, and cannot be made to hurry."
        return Outcome(REFUSED, sentence)

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        """Refused."""
        sentence = f"Beaker places jobs by its own order and can hold no nodes. {hold.asker_job} waits for its turn."
        return Outcome(REFUSED, sentence), ""

    def release(self, handle: str) -> Outcome:
        """Nothing was held."""
        return nothing_held(handle)

    def _look(self, order: Order) -> pb.Job | Outcome:
        """The job that the order means while it is on a node, or why there is none."""
        found = self._rpc.look(order.attempt)
        if isinstance(found, Failed):
            return Outcome(*found)
        if order.job not in {found.task_id, found.environment_id, found.workload_id, found.id}:
            return Outcome(GONE, f"Beaker's job {order.attempt} is none of {order.job}.")
        if found.status.HasField("finalized"):
            return Outcome(GONE, f"Job {order.attempt} is over: {_named(found)}.")
        if not found.assignment_details.HasField("node_id"):
            return Outcome(GONE, f"Job {order.attempt} is on no node: {_named(found)}.")
        return found


def failed(address: str, code: grpc.StatusCode, details: str | None) -> Failed:
    """What a gRPC status means for an order."""
    words = " ".join((details or "nothing more")[:500].split()).rstrip(".")
    if code == grpc.StatusCode.NOT_FOUND:
        return Failed(GONE, f"Beaker does not know it: {words}.")
    if code in _AGAIN:
        return Failed(UNREACHABLE, f"Beaker at {address} does not answer: {words} ({code.name}).")
    hint = f": {_HINTS[code]}" if code in _HINTS else ""
    return Failed(REFUSED, f"Beaker refused: {words} ({code.name}{hint}).")


def _named(job: pb.Job) -> str:
    """Its status in words; a number that the stubs have no name for as it is."""
    status = job.status.status
    names = pb.WorkloadStatus
    return (
        names.Name(status).removeprefix("STATUS_").replace("_", " ").lower()
        if status in names.values()
        else str(status)
    )
