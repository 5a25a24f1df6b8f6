"""`tenure up` enforces on a real Slurm: the fewest runs, on the right nodes, and who asked gets what was freed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import GANG, REQUEUES, Enforced, nodes_of, one_per_node, states
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, STUBBORN, Cluster

pytestmark = pytest.mark.timeout(300)


def filled(slurm: Cluster) -> list[str]:
    """Every GPU has a job of its own, for which nobody pays."""
    jobs = [slurm.submit(SLEEPS, REQUEUES, gpus=1) for _ in range(32)]
    for job in jobs:
        slurm.wait(job, "RUNNING")
    return jobs


def test_a_funded_gang_gets_two_nodes_and_no_more_yields(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    jobs = filled(slurm)
    before = {job: nodes_of(slurm, job) for job in jobs}
    here.start()
    gang = slurm.submit(SLEEPS, GANG, user="labbob", nodes=2, gpus=8)
    late = slurm.submit(SLEEPS, gpus=1)
    slurm.wait(gang, "RUNNING", limit_s=90)
    theirs = nodes_of(slurm, gang)
    left = {job for job, state in states(slurm, jobs).items() if state != "RUNNING"}
    assert len(theirs) == 2
    assert left == {job for job in jobs if before[job] <= theirs}
    assert len(left) == 16
    assert slurm.row(late).state == "PENDING", "what was freed is nobody else's"
    here.more_polls(2)  # which see it run
    assert "ReservationName=" not in slurm.run("scontrol", "-o", "show", "reservation"), "nothing is held any more"
    here.over()
    plans, orders, ends, ((reaction_s,),) = here.ask(
        "SELECT state, mode, rule, victims, job, wasted_gpu_ms FROM report_plans",
        "SELECT job, how, outcome FROM report_preemptions ORDER BY job",
        "SELECT outcome, count() FROM report_runs WHERE outcome != 'cancelled' GROUP BY outcome",
        "SELECT max(toUnixTimestamp(p.committed_at) - toUnixTimestamp(j.submitted_at)) FROM report_plans AS p "
        "INNER JOIN report_jobs AS j ON j.job = p.job",
    )
    assert plans == [("asker_started", "enforce", "R0", 16, gang, 0)]
    assert {job for job, *_ in orders} == left
    assert {(how, outcome) for _, how, outcome in orders} == {("requeue", "preempted")}
    assert reaction_s <= 2 + 1 + 3, "the delay, a second, and what it took to see it in the queue"
    assert ends == [("preempted", 16)]
    here.agrees()


def test_observing_logs_the_same_plan_and_touches_nothing(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    here = Enforced(tmp_path, slurm, grace_s=8)
    stopped.append(here)
    jobs = filled(slurm)
    here.start()
    gang = slurm.submit(SLEEPS, GANG, user="labbob", nodes=2, gpus=8)
    here.more_polls(9)
    assert set(states(slurm, jobs).values()) == {"RUNNING"}
    assert slurm.row(gang).state == "PENDING"
    assert slurm.run("scontrol", "-o", "show", "reservation").strip().startswith("No reservations")
    here.over()
    plans, orders = here.ask(
        "SELECT mode, rule, victims, job FROM report_plans",
        "SELECT count() FROM report_preemptions WHERE issued_at IS NOT NULL",
    )
    assert plans == [("observe", "R0", 16, gang)]
    assert orders == [(0,)]
    here.agrees()


def test_an_enforcer_killed_in_the_middle_goes_on(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    """Its victims ignore the signal, so there is a middle; slurmctld is away for a while in it, too."""
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    jobs = one_per_node(slurm, script=STUBBORN)
    here.start()
    asker = slurm.submit(SLEEPS, GANG, user="labbob", gpus=8)
    here.until(lambda: slurm.run("scontrol", "-o", "show", "reservation").startswith("ReservationName="))
    here.kill()
    slurm.saved(jobs[0])
    slurm.lab.kill("slurmctld")
    here.start()
    time.sleep(3)
    slurm.lab.start("slurmctld")
    slurm.wait(asker, "RUNNING", limit_s=90)
    assert sum(state == "RUNNING" for state in states(slurm, jobs).values()) == 3, "one yielded, as planned"
    here.more_polls(2)
    here.over()
    plans, orders = here.ask("SELECT state, victims FROM report_plans", "SELECT how, outcome FROM report_preemptions")
    assert plans == [("asker_started", 1)]
    assert [how for how, _ in orders] == ["cancel"]
    here.agrees()
