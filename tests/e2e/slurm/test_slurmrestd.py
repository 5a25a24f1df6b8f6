"""`tenure up` with slurmrestd for its eyes and hands: it warns and cancels, and names what slurmrestd cannot do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import GANG, REQUEUES, Enforced, contract, nodes_of
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.chaos]  # a minute each: `make chaos`, lest CI takes too long

BY_REST = """
slurmrestd = "unix:SOCKET"

[actuators.lab]
kind = "slurmrestd"
address = "unix:SOCKET"
"""


def test_without_a_hold_a_third_run_takes_what_was_freed_and_is_found_out(
    slurm: Cluster, tmp_path: Path, stopped: list[Tenure]
):
    """Two ask. One victim would have to be requeued, which is refused; the other is cancelled, and since slurmrestd
    holds nothing, who was refused gets there first.
    """
    more = BY_REST.replace("SOCKET", str(slurm.lab.rest_socket))
    here = Enforced(tmp_path, slurm, more, enforcement="enforce", grace_s=8)
    stopped.append(here)
    here.start()
    for node in ("gn3", "gn4"):
        slurm.running(SLEEPS, contract("10m"), user="labbob", on=node)
    goes = slurm.running(SLEEPS, on="gn2")
    time.sleep(1)
    stays = slurm.running(SLEEPS, REQUEUES, on="gn1")  # the newest yields first
    first, second = (slurm.submit(SLEEPS, GANG, user="labbob", gpus=8) for _ in range(2))
    slurm.wait(first, "RUNNING", limit_s=60)
    assert nodes_of(slurm, first) == {"gn2"}
    here.more_polls(12)  # by then it is seen that somebody else has the room
    assert slurm.row(stays).state == "RUNNING"
    assert slurm.row(second).state == "PENDING"
    here.over()
    plans, orders = here.ask(
        "SELECT job, state, sentence, handle FROM report_plans",
        "SELECT job, how, outcome, sentence FROM report_preemptions",
    )
    told = {job: rest for job, *rest in plans}
    assert told[first][0] == "refused"
    state, sentence, handle = told[second]
    assert (state, handle) == ("taken", "")
    assert "Somebody else has what was kept on gn2" in sentence
    (how, outcome, sentence), (other_how, other_outcome, _) = (
        rest for wanted in (stays, goes) for job, *rest in orders if job == wanted
    )
    assert (how, outcome) == ("requeue", "refused")
    assert "use the actuator slurm_cli" in sentence
    assert (other_how, other_outcome) == ("cancel", "preempted")
    assert "its room is kept from nobody. Nodes are held by reservations" in here.log.read_text()
    here.agrees()
