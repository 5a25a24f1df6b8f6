"""A reservation for maintenance in a real Slurm: its node is emptied of what may be interrupted, and no other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import Enforced
from tests.support.slurm import Cluster

pytestmark = pytest.mark.timeout(300)

REQUEUES = "--comment=tenure: resumable=yes"
FUNDED = "--comment=tenure: min_runtime=10m resumable=yes"
SOON = ("StartTime=now+5minutes", "Duration=60", "Users=root", "Flags=MAINT,IGNORE_JOBS")


def test_a_node_that_is_reserved_for_maintenance_is_emptied(slurm: Cluster, tmp_path: Path):
    """With a grace of 20 s it is so from 5 min 20 s before."""
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=20)
    free = slurm.running("exec sleep 600", REQUEUES, gpus=2)
    on = slurm.row(free).nodes
    kept = slurm.running("exec sleep 600", FUNDED, user="labbob", gpus=2, on=on)
    other = slurm.running("exec sleep 600", REQUEUES, gpus=8, on="gn2" if on != "gn2" else "gn3")
    here.start()
    try:
        slurm.run("scontrol", "create", "reservation", "ReservationName=fans", f"Nodes={on}", *SOON)
        end = time.monotonic() + 60
        while (row := slurm.row(free)).state != "RUNNING" or row.nodes == on:
            assert time.monotonic() < end, here.log.read_text()[-3000:]
            time.sleep(0.3)
        assert slurm.row(kept)[0] == slurm.row(other)[0] == "RUNNING"
        assert slurm.row(kept).nodes == on, "inside its minimum runtime"
        slurm.run("scontrol", "delete", "ReservationName=fans")
        time.sleep(3)  # a poll that misses it
    finally:
        here.stop()
    decisions = "SELECT count() FROM report_decisions WHERE kind = 'maintenance'"
    windows = here.ask(f"SELECT window, nodes, cancelled, author, ({decisions}) FROM report_maintenance")
    assert windows == [("slurm/fans", [on], True, "slurm", 2)], "planned once and taken back once"
    plans = here.ask(
        "SELECT p.state, p.mode, p.purpose, p.victims, r.job, r.how, r.outcome FROM report_plans AS p "
        "INNER JOIN report_preemptions AS r ON r.plan = p.plan"
    )
    assert plans == [("drained", "enforce", "drain", 1, free, "requeue", "preempted")]
