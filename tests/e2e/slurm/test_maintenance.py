"""A reservation for maintenance in a real Slurm: its node is emptied of what may be interrupted, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.e2e.slurm.enforced import GANG, REQUEUES, Enforced
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.chaos]  # a minute each: `make chaos`, lest CI takes too long

SOON: Final = ("StartTime=now+5minutes", "Duration=60", "Users=root", "Flags=MAINT,IGNORE_JOBS")
"""With a grace of 8 s a node is emptied from 5 min 8 s before."""


def test_a_node_that_is_reserved_for_maintenance_is_emptied(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    free = slurm.running(SLEEPS, REQUEUES, gpus=2)
    on = slurm.row(free).nodes
    kept = slurm.running(SLEEPS, GANG, user="labbob", gpus=2, on=on)
    other = slurm.running(SLEEPS, REQUEUES, gpus=8, on="gn2" if on != "gn2" else "gn3")
    here.start()
    slurm.run("scontrol", "create", "reservation", "ReservationName=fans", f"Nodes={on}", *SOON)
    here.until(lambda: slurm.row(free).state == "RUNNING" and slurm.row(free).nodes != on, 60)
    assert slurm.row(other).state == "RUNNING"
    assert (slurm.row(kept).state, slurm.row(kept).nodes) == ("RUNNING", on), "inside its minimum runtime"
    slurm.run("scontrol", "delete", "ReservationName=fans")
    here.more_polls(2)
    here.over()
    windows, decided, plans, orders = here.ask(
        "SELECT window, nodes, cancelled, author FROM report_maintenance",
        "SELECT count() FROM report_decisions WHERE kind = 'maintenance'",
        "SELECT state, mode, purpose, victims FROM report_plans",
        "SELECT job, how, outcome FROM report_preemptions",
    )
    assert windows == [("slurm/fans", [on], True, "slurm")]
    assert decided == [(2,)], "planned once and taken back once, whatever the number of polls"
    assert plans == [("drained", "enforce", "drain", 1)]
    assert orders == [(free, "requeue", "preempted")]
