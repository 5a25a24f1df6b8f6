"""NOT Beaker: a fake of the two calls the actuator makes, on the servicer of `beaker-py`'s stubs.

It does what is published of Beaker: a preempted job is told by SIGTERM, and ended five minutes later if it has not by
then (`outlast`); one with auto_resume is followed by another job of its task; a job is finalized some time after it
exited. What Beaker says to those who may not act, or come too late, is assumed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import grpc
from beaker import beaker_pb2 as pb
from beaker.beaker_pb2_grpc import BeakerServicer, add_BeakerServicer_to_server

TOKEN = "the-labs-token"


class FakeBeaker(BeakerServicer):
    """One Beaker on loopback; with `credentials` it speaks TLS."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.jobs: dict[str, pb.Job] = {}
        self.stubborn: set[str] = set()
        self.guarded: set[str] = set()
        self.preemptions: Counter[str] = Counter()
        self.delay_s = 0.0
        self._credentials = credentials
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._server, self._port = self._start(0)

    @property
    def url(self) -> str:
        return f"{'https' if self._credentials else 'http'}://localhost:{self._port}"

    def run(self, *, resumes: bool = True, task: str = "", ancestor: str | None = None) -> pb.Job:
        """A job that runs on a node."""
        number = next(self._numbers)
        made = pb.Job(
            id=f"JOB{number:04}",
            task_id=task or f"TASK{number:04}",
            workload_id=f"WORKLOAD{number:04}",
            retry_ancestor_id=ancestor,
            status=pb.JobStatus(status=pb.STATUS_RUNNING),
            system_details=pb.SystemDetails(auto_resume=resumes),
            assignment_details=pb.AssignmentDetails(node_id="gn1", occupied_slots_count=8),
        )
        for moment in ("created", "scheduled", "started"):
            getattr(made.status, moment).GetCurrentTime()
        self.jobs[made.id] = made
        return made

    def exit(self, job: pb.Job) -> None:
        """Its process ends; what it leaves behind is stored yet."""
        job.status.status = pb.STATUS_UPLOADING_RESULTS
        job.status.exited.GetCurrentTime()
        job.assignment_details.occupied_slots_count = 0

    def finalize(self, job: pb.Job, status: pb.WorkloadStatus) -> None:
        """It is over."""
        self.exit(job)
        job.status.status = status
        job.status.finalized.GetCurrentTime()

    def outlast(self, job: pb.Job) -> None:
        """Five minutes pass for a job that was preempted."""
        self.finalize(job, pb.STATUS_CANCELED)
        if job.system_details.auto_resume:
            self.run(task=job.task_id, ancestor=job.id)

    def GetJob(self, request: pb.GetJobRequest, context: grpc.ServicerContext) -> pb.GetJobResponse:  # noqa: N802
        with self._lock:
            return pb.GetJobResponse(job=self._job(request.job_id, context))

    def PreemptJob(  # noqa: N802
        self, request: pb.PreemptJobRequest, context: grpc.ServicerContext
    ) -> pb.PreemptJobResponse:
        with self._lock:
            job = self._job(request.job_id, context)
            if job.id in self.guarded:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "user may not preempt jobs in workspace lab/other")
            if job.status.HasField("finalized"):
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "job is finalized")
            self.preemptions[job.id] += 1
            job.status.status = pb.STATUS_STOPPING
            job.status.canceled.GetCurrentTime()
            job.status.canceled_for = request.canceled_for
            job.status.canceled_code = request.canceled_code
            if job.id not in self.stubborn:
                self.outlast(job)
            return pb.PreemptJobResponse(job=job)

    def _job(self, name: str, context: grpc.ServicerContext) -> pb.Job:
        time.sleep(self.delay_s)
        if dict(context.invocation_metadata()).get("authorization") != f"bearer {TOKEN}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "invalid token")
        if name not in self.jobs:
            context.abort(grpc.StatusCode.NOT_FOUND, f"job {name} not found")
        return self.jobs[name]

    @contextmanager
    def away(self) -> Iterator[None]:
        self.close()
        try:
            yield
        finally:
            self._server, _ = self._start(self._port)

    def close(self) -> None:
        self._server.stop(None).wait()

    def _start(self, port: int) -> tuple[grpc.Server, int]:
        server = grpc.server(ThreadPoolExecutor(2))
        add_BeakerServicer_to_server(self, server)
        where = f"127.0.0.1:{port}"
        if self._credentials is None:
            port = server.add_insecure_port(where)
        else:
            port = server.add_secure_port(where, self._credentials)
        server.start()
        return server, port
