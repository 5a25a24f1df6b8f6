"""What Beaker is told, and what its states and gRPC's status codes mean for an order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from beaker import beaker_pb2 as pb

from enforcer.actuators.beaker import Beaker, Rpc, failed
from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Order
from tests.contract.actuator.worlds import How
from tests.support.fake_beaker import TOKEN, FakeBeaker

AGAIN = {
    "ABORTED",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "UNKNOWN",
}


@pytest.fixture
def fake() -> Iterator[FakeBeaker]:
    made = FakeBeaker()
    yield made
    made.close()


def beaker(fake: FakeBeaker, **how: object) -> Beaker:
    return Beaker(Rpc(fake.url, **({"token": TOKEN, "timeout_s": 5.0} | how)))  # type: ignore[arg-type]


def order_for(job: pb.Job, how: How = "requeue") -> Order:
    return Order("lab", "gpu/1/77", job.task_id, job.id, how, 300, ("gn1",), "Job 77 needs gn1’s GPUs.")


def test_the_user_is_told_who_preempted_and_why(fake: FakeBeaker) -> None:
    job = fake.run()
    outcome = beaker(fake).preempt(order_for(job))
    assert outcome == (ACCEPTED, f"Job {job.id} is preempted, and Beaker queues its task again.")
    assert job.status.canceled_for == "Job 77 needs gn1’s GPUs."
    assert job.status.canceled_code == pb.CANCELATION_CODE_USER_PREEMPTION
    (after,) = (one for one in fake.jobs.values() if one.retry_ancestor_id == job.id)
    assert (after.task_id, after.status.status) == (job.task_id, pb.STATUS_RUNNING)


def test_what_beaker_would_not_queue_again_is_not_requeued(fake: FakeBeaker) -> None:
    job = fake.run(resumes=False)
    outcome = beaker(fake).preempt(order_for(job))
    assert outcome.name == REFUSED
    assert "auto_resume" in outcome.sentence
    assert not fake.preemptions
    assert beaker(fake).preempt(order_for(job, "cancel")) == (
        ACCEPTED,
        f"Job {job.id} is preempted, and it is not queued again.",
    )


def test_what_beaker_queues_again_although_it_is_cancelled_is_told(fake: FakeBeaker) -> None:
    outcome = beaker(fake).preempt(order_for(fake.run(), "cancel"))
    assert outcome.name == ACCEPTED
    assert "queues its task again" in outcome.sentence


def test_a_new_actuator_sees_that_a_job_was_told(fake: FakeBeaker) -> None:
    job = fake.run()
    fake.stubborn.add(job.id)
    for _ in range(2):
        assert beaker(fake).preempt(order_for(job)).name == ACCEPTED
    assert fake.preemptions[job.id] == 1
    assert beaker(fake).left(order_for(job)) == (RUNNING, f"Job {job.id} is stopping.")
    fake.outlast(job)
    assert beaker(fake).left(order_for(job)) == (LEFT, f"Job {job.id} is over: canceled.")


def test_a_job_that_exited_by_itself_is_not_preempted_any_more(fake: FakeBeaker) -> None:
    job = fake.run()
    fake.exit(job)
    assert beaker(fake).preempt(order_for(job)).name == ACCEPTED
    assert not fake.preemptions, "or it would run again"


def test_slots_are_free_once_it_exited_and_occupies_none(fake: FakeBeaker) -> None:
    job = fake.run()
    job.status.exited.GetCurrentTime()
    assert beaker(fake).left(order_for(job)).name == RUNNING
    job.assignment_details.occupied_slots_count = 0
    assert beaker(fake).left(order_for(job)).name == LEFT
    job.status.ClearField("exited")
    assert beaker(fake).left(order_for(job)).name == RUNNING, "none occupied yet is not none any more"


def test_a_job_that_waits_holds_nothing(fake: FakeBeaker) -> None:
    job = fake.run()
    job.status.status = pb.STATUS_QUEUED
    job.ClearField("assignment_details")
    outcome = beaker(fake).preempt(order_for(job))
    assert outcome == (GONE, f"Job {job.id} is on no node: queued.")
    assert beaker(fake).left(order_for(job)).name == LEFT


def test_a_status_newer_than_the_stubs_is_told_as_its_number(fake: FakeBeaker) -> None:
    job = fake.run()
    job.status.status = 99  # type: ignore[assignment]
    assert beaker(fake).left(order_for(job)) == (RUNNING, f"Job {job.id} is 99.")


@pytest.mark.parametrize("field", ["id", "task_id", "workload_id", "environment_id"])
def test_a_job_is_whatever_its_attempts_have_in_common(fake: FakeBeaker, field: str) -> None:
    job = fake.run()
    if field == "environment_id":
        job.environment_id = "ENVIRONMENT1"
    assert beaker(fake).left(replace(order_for(job), job=getattr(job, field))).name == RUNNING
    assert beaker(fake).left(replace(order_for(job), job="TASK9999")).name == LEFT


def test_an_answer_that_came_too_late_is_asked_for_again(fake: FakeBeaker) -> None:
    job = fake.run()
    fake.delay_s = 0.5
    outcome = beaker(fake, timeout_s=0.1).preempt(order_for(job))
    assert outcome.name == UNREACHABLE
    assert "DEADLINE_EXCEEDED" in outcome.sentence
    fake.delay_s = 0
    assert beaker(fake).preempt(order_for(job)).name == ACCEPTED
    assert fake.preemptions[job.id] == 1


def test_a_wrong_token_is_refused_and_says_nothing_of_whether_it_left(fake: FakeBeaker) -> None:
    order, wrong = order_for(fake.run()), beaker(fake, token="another")
    for outcome in (wrong.preempt(order), wrong.kill(order)):
        assert outcome.name == REFUSED
        assert "token_file" in outcome.sentence
    assert wrong.left(order).name == UNREACHABLE


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code.name not in {"OK", "NOT_FOUND"}])
def test_every_status_of_grpc_is_an_outcome(code: grpc.StatusCode) -> None:
    outcome = failed("https://b", code, "what\nit  says.")
    assert outcome.name == (UNREACHABLE if code.name in AGAIN else REFUSED)
    assert "what it says" in outcome.sentence
    assert code.name in outcome.sentence


def test_what_is_not_known_is_gone() -> None:
    assert failed("https://b", grpc.StatusCode.NOT_FOUND, None).name == GONE


# ---------------------------------------------------------------- TLS


def test_whom_the_authority_vouches_for_is_believed_and_nobody_else(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    request = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    subprocess.run(
        ["openssl", *request, *names, "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=30
    )
    fake = FakeBeaker(grpc.ssl_server_credentials([(key.read_bytes(), cert.read_bytes())]))
    try:
        order = order_for(fake.run())
        assert beaker(fake, roots=cert.read_bytes()).left(order).name == RUNNING
        assert beaker(fake).left(order).name == UNREACHABLE
    finally:
        fake.close()


def test_who_speaks_no_tls_is_not_told_the_token(fake: FakeBeaker) -> None:
    secure = Beaker(Rpc(fake.url.replace("http:", "https:"), TOKEN, timeout_s=5.0))
    assert secure.left(order_for(fake.run())).name == UNREACHABLE
