"""`observe` touches nothing, whatever it is told, and says what it would do."""

from __future__ import annotations

import time
from pathlib import Path

from enforcer.actuators.observe import Observe
from enforcer.orders import ACCEPTED, RUNNING
from tests.contract.actuator.conftest import by_commands
from tests.contract.actuator.worlds import RealSlurm
from tests.support.slurm import Cluster


def test_a_real_slurm_is_as_it_was(slurm: Cluster, notes: Path) -> None:
    world = RealSlurm(slurm, by_commands, notes)
    order, hold = world.run(how="requeue"), world.ask_beside()
    before = slurm.run("squeue", "-h", "-t", "all", "-o", "%i %T %V %N %v")
    observe = Observe()

    told = observe.preempt(order)
    assert (told.name, observe.kill(order).name) == (ACCEPTED, ACCEPTED)
    assert told.sentence == f"Would requeue job {order.job} on gn1: Job 77 needs gn1's GPUs."
    kept, handle = observe.hold(hold)
    assert (kept.name, handle) == (ACCEPTED, "")
    assert kept.sentence == f"Would hold gn1 for job {hold.asker_job}."
    assert observe.release(handle).name == ACCEPTED

    time.sleep(1)
    assert observe.left(order).name == RUNNING
    assert slurm.run("squeue", "-h", "-t", "all", "-o", "%i %T %V %N %v") == before
    assert "ReservationName" not in slurm.run("scontrol", "show", "reservation")
