"""A user holds their own running job: Slurm's accounting and sreport lose it, the book does not, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import Enforced, contract
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = pytest.mark.timeout(300)


def test_a_running_job_that_is_held_stays_in_the_book(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    here.start()
    plain = slurm.running(SLEEPS, contract("1m"), gpus=1)
    held = slurm.running(SLEEPS, contract("1m"), gpus=4)
    here.more_polls(2)
    as_user = ("setpriv", "--reuid=labalice", "--regid=labalice", "--clear-groups")
    slurm.run(*as_user, "scontrol", "hold", held)
    here.more_polls(2)
    slurm.run(*as_user, "scontrol", "release", held)  # which gives nothing back
    here.more_polls(2)
    assert slurm.row(held).state == "RUNNING", "a hold of what runs stops nothing"
    here.over()
    listed = slurm.run("sacct", "-a", "-X", "-n", "-P", "-S", "now-1hour", "--format=JobID").split()
    assert plain in listed
    assert held not in listed, "this Slurm has not lost the held job, so nothing was shown of it"

    explained, other, doctor, verified = here.tell(("explain", held), ("explain", plain), ("doctor",), ("verify",))
    (remark,) = explained.json["remarks"]
    assert remark["name"] == "held_while_running"
    assert "sreport" in remark["sentence"]
    assert any("held_while_running" in told["sentence"] for told in explained.json["story"])
    assert other.json["remarks"] == []
    assert "held_while_running" in doctor.out
    assert "held_while_running" in verified.out
    here.agrees(lost=held)
