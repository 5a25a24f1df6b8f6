"""What Slurm said, in its own words, and what that means for an order."""

from __future__ import annotations

import pytest

from enforcer.actuators.http import NoReply, Reply
from enforcer.actuators.slurm import Failed, failed, reservation
from enforcer.actuators.slurm_rest import _read, _row
from enforcer.orders import REFUSED, UNREACHABLE


@pytest.mark.parametrize(
    "said",
    [
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        "Unexpected message received for job 8",
        "Error creating the reservation: Unexpected message received",
        "Unable to find JobId=1; Unspecified error (slurmrestd, HTTP 500)",
        "slurm_update error: Socket timed out on send/recv operation",
    ],
)
def test_a_controller_that_is_away_is_unreachable(said: str) -> None:
    assert failed(said).name == UNREACHABLE
    assert said in failed(said).sentence


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Requested operation is presently disabled for job 3", "--no-requeue"),
        ("Access/permission denied for job 5", "AdminLevel=Operator"),
        ("Requested reservation overlaps with another reservation", "earlier reservation"),
        ("Invalid node name specified", "Invalid node name specified"),
    ],
)
def test_a_refusal_says_what_to_do(said: str, hint: str) -> None:
    assert failed(said).name == REFUSED
    assert hint in failed(said).sentence


def test_reservations_have_names_that_slurm_takes() -> None:
    assert reservation("gpu/12/4711_3") == reservation("gpu/12/4711_3")
    assert reservation("gpu/12/4711_3") != reservation("gpu/12/4711_4")
    assert reservation("ü /,=").replace("tenure_", "").isalnum()


def test_what_slurmrestd_answers_is_read_whatever_the_version() -> None:
    old = {
        "job_id": 5,
        "job_state": "RUNNING",
        "submit_time": 100,
        "start_time": 101,
        "user_name": "a",
        "resv_name": "",
    }
    new = {
        "job_id": 5,
        "job_state": ["RUNNING", "COMPLETING"],
        "submit_time": {"set": True, "infinite": False, "number": 100},
        "start_time": {"set": False, "infinite": False, "number": 0},
        "array_job_id": {"set": True, "infinite": False, "number": 3},
        "array_task_id": {"set": True, "infinite": False, "number": 7},
    }
    assert (_row(old).job, _row(old).submit, _row(old).states) == ("5", "100", frozenset({"RUNNING"}))
    assert (_row(new).job, _row(new).submit, _row(new).start) == ("3_7", "100", "")
    assert _row(new).states == {"RUNNING", "COMPLETING"}


def test_a_refusal_behind_http_200_is_one() -> None:
    body = b'{"errors": [], "status": [{"error": {"code": 2002, "message": "Access/permission denied"}}]}'
    outcome = _read(Reply(200, body))
    assert isinstance(outcome, Failed)
    assert outcome.name == REFUSED
    fine = b'{"errors": [], "status": [{"error": {"code": 0, "message": "", "string": "No error"}}]}'
    assert not isinstance(_read(Reply(200, fine)), Failed)


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        (NoReply("it does not answer"), UNREACHABLE),
        (Reply(502, b"<html>bad gateway</html>"), UNREACHABLE),
        (Reply(401, b"Authentication failure"), REFUSED),
    ],
)
def test_answers_without_slurms_words(reply: Reply | NoReply, name: str) -> None:
    outcome = _read(reply)
    assert isinstance(outcome, Failed)
    assert outcome.name == name
