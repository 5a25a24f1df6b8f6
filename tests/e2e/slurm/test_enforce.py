"""`tenure up` enforces on a real Slurm: the fewest runs, on the right nodes, and who asked gets what was freed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import Enforced
from tests.support.slurm import Cluster

pytestmark = pytest.mark.timeout(300)

GANG = "--comment=tenure: min_runtime=10m resumable=yes"
REQUEUES = "--comment=tenure: resumable=yes"


def filled(slurm: Cluster) -> list[str]:
    """Every GPU has a job of its own, for which nobody pays."""
    jobs = [slurm.submit("exec sleep 600", REQUEUES, gpus=1) for _ in range(32)]
    for job in jobs:
        slurm.wait(job, "RUNNING")
    return jobs


def states(slurm: Cluster, jobs: list[str]) -> dict[str, str]:
    said = slurm.run("squeue", "-h", "-t", "all", "-o", "%i|%T").splitlines()
    found = dict(line.split("|") for line in said)
    return {job: found.get(job, "") for job in jobs}


def nodes_of(slurm: Cluster, job: str) -> set[str]:
    return set(slurm.run("scontrol", "show", "hostnames", slurm.row(job).nodes).split())


@pytest.fixture
def stopped() -> Iterator[list[Enforced]]:
    """What a test started, which ends with it."""
    started: list[Enforced] = []
    yield started
    for one in started:
        one.stop()


def test_a_funded_gang_gets_two_nodes_and_no_more_yields(slurm: Cluster, tmp_path: Path, stopped: list[Enforced]):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=20, hold_s=120)
    stopped.append(here)
    jobs = filled(slurm)
    before = {job: nodes_of(slurm, job) for job in jobs}
    here.start()
    gang = slurm.submit("exec sleep 600", GANG, user="labbob", nodes=2, gpus=8)
    late = slurm.submit("exec sleep 600", gpus=1)
    slurm.wait(gang, "RUNNING", limit_s=90)
    theirs = nodes_of(slurm, gang)
    now = states(slurm, jobs)
    left = {job for job, state in now.items() if state != "RUNNING"}
    assert len(theirs) == 2
    assert left == {job for job in jobs if before[job] <= theirs}
    assert len(left) == 16
    assert slurm.row(late).state == "PENDING", "what was freed is nobody else's"
    time.sleep(3)  # a poll that sees it run
    here.stop()
    assert "ReservationName=" not in slurm.run("scontrol", "-o", "show", "reservation"), "nothing is held any more"
    plans = here.ask("SELECT state, mode, rule, victims, job, wasted_gpu_ms FROM report_plans")
    assert plans == [("asker_started", "enforce", "R0", 16, gang, 0)]
    orders = here.ask("SELECT job, how, outcome FROM report_preemptions ORDER BY job")
    assert {job for job, *_ in orders} == left
    assert {(how, outcome) for _, how, outcome in orders} == {("requeue", "preempted")}
    (reaction,) = here.ask(
        "SELECT max(toUnixTimestamp(p.committed_at) - toUnixTimestamp(j.submitted_at)) FROM report_plans AS p "
        "INNER JOIN report_jobs AS j ON j.job = p.job"
    )
    assert reaction[0] <= 2 + 1 + 3, "the delay, a second, and what it took to see it in the queue"
    ends = here.ask("SELECT outcome, count() FROM report_runs WHERE ended_at IS NOT NULL GROUP BY outcome")
    assert ends == [("preempted", 16)]


def test_observing_logs_the_same_plan_and_touches_nothing(slurm: Cluster, tmp_path: Path, stopped: list[Enforced]):
    here = Enforced(tmp_path, slurm, grace_s=20, hold_s=120)
    stopped.append(here)
    jobs = filled(slurm)
    here.start()
    gang = slurm.submit("exec sleep 600", GANG, user="labbob", nodes=2, gpus=8)
    time.sleep(20)
    assert set(states(slurm, jobs).values()) == {"RUNNING"}
    assert slurm.row(gang).state == "PENDING"
    assert slurm.run("scontrol", "-o", "show", "reservation").strip().startswith("No reservations")
    here.stop()
    assert here.ask("SELECT state, mode, rule, victims, job FROM report_plans") == [("open", "observe", "R0", 16, gang)]
    assert here.ask("SELECT count() FROM report_preemptions WHERE issued_at IS NOT NULL") == [(0,)]


def test_an_enforcer_killed_in_the_middle_goes_on(slurm: Cluster, tmp_path: Path, stopped: list[Enforced]):
    """Its victims ignore the signal, so there is a middle; slurmctld is away for a while in it, too."""
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8, hold_s=120)
    stopped.append(here)
    stubborn = "trap '' TERM; while :; do sleep 0.1; done"
    jobs = [slurm.running(stubborn, gpus=8) for _ in range(4)]
    here.start()
    asker = slurm.submit("exec sleep 600", GANG, user="labbob", gpus=8)
    ordered = time.monotonic() + 60
    while not slurm.run("scontrol", "-o", "show", "reservation").startswith("ReservationName="):
        assert time.monotonic() < ordered, here.log.read_text()[-3000:]
        time.sleep(0.1)
    here.kill()
    slurm.saved(jobs[0])
    slurm.lab.kill("slurmctld")
    here.start()
    time.sleep(3)
    slurm.lab.start("slurmctld")
    slurm.wait(asker, "RUNNING", limit_s=90)
    assert sum(state == "RUNNING" for state in states(slurm, jobs).values()) == 3, "one yielded, as planned"
    time.sleep(3)
    here.stop()
    assert here.ask("SELECT state, victims FROM report_plans") == [("asker_started", 1)]
    assert here.ask("SELECT how, outcome FROM report_preemptions")[0][0] == "cancel"
