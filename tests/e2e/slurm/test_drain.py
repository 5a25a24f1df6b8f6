"""An administrator drains a node: it is emptied as contracts allow, and nobody is put there meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import GANG, REQUEUES, Enforced, contract, nodes_of
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = pytest.mark.timeout(300)

CONTRACT_S = 20


def test_a_draining_node_is_left_at_once_or_when_the_contract_is_banked(
    slurm: Cluster, tmp_path: Path, stopped: list[Tenure]
):
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    here.start()
    for node in ("gn2", "gn3", "gn4"):
        slurm.running(SLEEPS, REQUEUES, on=node)
    free = slurm.running(SLEEPS, REQUEUES, gpus=4, on="gn1")
    safe = slurm.running(SLEEPS, contract(f"{CONTRACT_S}s", "resumable=yes"), user="labbob", gpus=4, on="gn1")
    drained_s = int(time.time())
    slurm.run("scontrol", "update", "nodename=gn1", "state=drain", "reason=fan 3 is loud")
    asker = slurm.submit(SLEEPS, GANG, user="labbob", gpus=8)
    slurm.wait(asker, "RUNNING", limit_s=60)
    assert nodes_of(slurm, asker) != {"gn1"}
    assert slurm.row(safe).state == "RUNNING", "its contract is not banked yet"
    here.until(lambda: here.polls()[-1]["nodes"] == {"available": 3, "planned_down": 1})
    here.until(lambda: slurm.run("sinfo", "-h", "-N", "-n", "gn1", "-o", "%T").strip() == "drained")
    here.more_polls(3)
    here.over()
    orders, plans = here.ask(
        "SELECT v.job, v.class, v.outcome, toUnixTimestamp(v.issued_at), r.running_s FROM report_preemptions AS v "
        "INNER JOIN report_runs AS r ON r.run = v.run WHERE startsWith(v.plan, 'drain/') ORDER BY v.issued_at",
        "SELECT purpose, state, job, host_nodes FROM report_plans ORDER BY committed_at",
    )
    (first, *first_told, at_s, _), (second, *second_told, _, ran_s) = orders
    assert (first, *first_told) == (free, "unfunded", "preempted")
    assert at_s - drained_s <= 3, "at once is by the next poll"
    assert (second, *second_told) == (safe, "within", "preempted")
    assert ran_s >= CONTRACT_S
    drains = [state for purpose, state, *_ in plans if purpose == "drain"]
    assert drains == ["drained", "drained"]
    (hosts,) = (hosts for purpose, _, job, hosts in plans if job == asker)
    assert "gn1" not in hosts
    here.agrees()
