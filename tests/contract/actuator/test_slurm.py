"""What only a real Slurm shows: arrays, gangs, suspended jobs, rights, and how a hold ends."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from deploy.processes import until
from enforcer.actuators.http import Http
from enforcer.actuators.slurm import Slurm
from enforcer.actuators.slurm_cli import Commands
from enforcer.actuators.slurm_rest import Rest
from enforcer.orders import ACCEPTED, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order
from tests.contract.actuator.conftest import by_commands
from tests.contract.actuator.worlds import How
from tests.support.slurm import SLEEPS, Cluster


def order_for(slurm: Cluster, job: str, how: How = "requeue") -> Order:
    row = slurm.wait(job, "RUNNING", "SUSPENDED")
    return Order("lab", "gpu/1/77", job, row.submit, how, 0, (row.nodes,), "Job 77 needs the GPUs.")


def test_a_task_of_an_array_leaves_and_the_others_stay(slurm: Cluster) -> None:
    array = slurm.submit(SLEEPS, "--array=1-3", gpus=1)
    order = order_for(slurm, f"{array}_2")
    actuator = by_commands(slurm)
    assert actuator.preempt(order).name == ACCEPTED
    assert until(lambda: actuator.left(order).name == LEFT, 10)
    assert [slurm.row(f"{array}_{task}").state for task in (1, 3)] == ["RUNNING", "RUNNING"]


def test_a_heterogeneous_job_leaves_as_a_whole(slurm: Cluster) -> None:
    job = slurm.submit(SLEEPS, ":", "--gres=gpu:h100:2", gpus=1)
    orders = [order_for(slurm, f"{job}+{part}") for part in (0, 1)]
    actuator = by_commands(slurm)
    assert {actuator.preempt(order).name for order in orders} <= {ACCEPTED, "gone"}
    assert until(lambda: all(actuator.left(order).name == LEFT for order in orders), 10)


def test_a_gang_leaves_from_all_its_nodes(slurm: Cluster) -> None:
    order = order_for(slurm, slurm.submit(nodes=3))
    actuator = by_commands(slurm)
    assert actuator.preempt(order).name == ACCEPTED
    assert until(lambda: actuator.left(order).name == LEFT, 10)
    assert until(lambda: slurm.run("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "4", 5)


def test_a_suspended_job_holds_its_gpus_until_it_is_cancelled(slurm: Cluster) -> None:
    job = slurm.running()
    slurm.run("scontrol", "suspend", job)
    order = order_for(slurm, job, "cancel")
    actuator = by_commands(slurm)
    assert actuator.left(order).name == RUNNING
    assert actuator.preempt(order).name == ACCEPTED
    assert until(lambda: actuator.left(order).name == LEFT, 10)


def test_who_is_no_operator_is_told_how_to_become_one(slurm: Cluster, notes: Path) -> None:
    """`notes` holds commands that run as an ordinary user."""
    for name in ("squeue", "scontrol", "scancel"):
        file = notes / name
        file.write_text(f'#!/bin/sh\nexec setpriv --reuid=labbob --clear-groups /usr/bin/{name} "$@"\n')
        file.chmod(0o755)
    commands = Commands(slurm.lab.env | {"PATH": f"{notes}:{slurm.lab.env['PATH']}"})
    actuator = Slurm(commands, commands)
    order = order_for(slurm, slurm.running())
    for outcome in (actuator.preempt(order), actuator.preempt(replace(order, how="cancel"))):
        assert outcome.name == REFUSED
        assert "AdminLevel=Operator" in outcome.sentence
    waiting = slurm.submit(nodes=4)
    outcome, handle = actuator.hold(Hold("lab", "p", waiting, (("gn2", 8000),), int(time.time()) + 60))
    assert (outcome.name, handle) == (REFUSED, "")
    assert slurm.row(order.job).state == "RUNNING"


def test_without_commands_it_is_unreachable(slurm: Cluster) -> None:
    order = order_for(slurm, slurm.running())
    for env, timeout_s, words in (({"PATH": "/nonexistent"}, 5.0, "on the PATH"), (slurm.lab.env, 0.001, "within")):
        outcome = Slurm(Commands(env, timeout_s=timeout_s)).preempt(order)
        assert outcome.name == UNREACHABLE
        assert words in outcome.sentence


def test_slurmrestd_takes_a_token_and_refuses_a_wrong_one(slurm: Cluster) -> None:
    order = order_for(slurm, slurm.running(), "cancel")
    who = {"X-SLURM-USER-NAME": "root", "X-SLURM-USER-TOKEN": slurm.lab.token()}
    wrong = Slurm(Rest(Http(slurm.lab.rest_url, who | {"X-SLURM-USER-TOKEN": "x.y.z"})))
    assert wrong.preempt(order).name in {REFUSED, UNREACHABLE}
    none = Slurm(Rest(Http(slurm.lab.rest_url)))
    assert none.preempt(order).name == REFUSED
    right = Slurm(Rest(Http(slurm.lab.rest_url, who)))
    assert right.left(order).name == RUNNING
    assert right.preempt(order).name == ACCEPTED
    assert until(lambda: right.left(order).name == LEFT, 10)


def test_an_asker_outlives_the_hold_that_let_it_in(slurm: Cluster) -> None:
    """Without FLEX Slurm kills what runs in a reservation that ends."""
    slurm.running(on="gn1")
    asker = slurm.submit(on="gn1", user="labbob")
    actuator = by_commands(slurm)
    until_s = int(time.time()) + 6
    outcome, _ = actuator.hold(Hold("lab", "gpu/2/asker", asker, (("gn1", 8000),), until_s))
    assert outcome.name == ACCEPTED
    slurm.run("scancel", *slurm.run("squeue", "-h", "-t", "R", "-o", "%i").split())
    slurm.wait(asker, "RUNNING")
    time.sleep(max(0.0, until_s + 5 - time.time()))
    assert slurm.row(asker).state == "RUNNING"


def test_a_task_of_an_array_may_ask(slurm: Cluster) -> None:
    for node in slurm.lab.shape.names:
        slurm.running(on=node)
    array = slurm.submit(SLEEPS, "--array=1-3", user="labbob")
    actuator = by_commands(slurm)
    outcome, handle = actuator.hold(Hold("lab", "gpu/5/asker", f"{array}_2", (("gn3", 8000),), int(time.time()) + 120))
    assert outcome.name == ACCEPTED, outcome
    jobs = slurm.run("squeue", "-h", "-w", "gn3", "-o", "%i").split()
    slurm.run("scancel", *jobs)
    assert slurm.wait(f"{array}_2", "RUNNING").nodes == "gn3"
    assert actuator.release(handle).name == ACCEPTED
    assert slurm.row(f"{array}_2").state == "RUNNING"


def test_an_asker_with_a_reservation_of_its_own_is_left_alone(slurm: Cluster) -> None:
    when = ("StartTime=now+600", "Duration=10", "Users=labbob", "Nodes=gn4")
    slurm.run("scontrol", "create", "reservation", "ReservationName=mine", *when)
    asker = slurm.submit(SLEEPS, "--reservation=mine", user="labbob")
    outcome, handle = by_commands(slurm).hold(
        Hold("lab", "gpu/3/asker", asker, (("gn1", 8000),), int(time.time()) + 60)
    )
    assert (outcome.name, handle) == (REFUSED, "")
    assert "mine" in outcome.sentence


def test_a_hold_that_a_crash_forgot_is_made_again(slurm: Cluster) -> None:
    for node in ("gn1", "gn2", "gn3", "gn4"):
        slurm.running(on=node)
    asker = slurm.submit(nodes=2, user="labbob")
    slurm.saved(asker)
    actuator = by_commands(slurm)
    hold = Hold("lab", "gpu/4/asker", asker, (("gn1", 8000), ("gn2", 8000)), int(time.time()) + 120)
    _, handle = actuator.hold(hold)
    slurm.lab.kill("slurmctld")
    slurm.lab.start("slurmctld")
    assert actuator.hold(hold)[1] == handle
    assert handle in slurm.run("scontrol", "show", "reservation")
