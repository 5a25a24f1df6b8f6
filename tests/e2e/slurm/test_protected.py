"""Inside its minimum runtime a run is touched by nobody; once it is banked a better-ranked asker gets its room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.slurm.enforced import Enforced, contract, one_per_node, states
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = pytest.mark.timeout(300)

CONTRACT_S = 25
ASKS_S = 28


def test_nobody_yields_before_its_contract_is_banked(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    """Three quarters of the GPUs are one team's. With one asker's contract the whole stays within its claim, which is
    R1; with two it does not, and only their team's lower ratio lets the second take, which is R2.
    """
    here = Enforced(tmp_path, slurm, enforcement="enforce", grace_s=8)
    stopped.append(here)
    here.start()
    jobs = one_per_node(slurm, contract(f"{CONTRACT_S}s", "resumable=yes"), gpus=6)
    asks = contract(f"{ASKS_S}s")
    askers = [slurm.submit(SLEEPS, asks, user="labbob", gpus=8) for _ in range(2)]
    for asker in askers:
        slurm.wait(asker, "RUNNING", limit_s=90)
    assert sorted(states(slurm, jobs).values()).count("RUNNING") == 2, "one yields to each, the others stay"
    here.more_polls(2)
    here.over()
    plans, victims = here.ask(
        "SELECT job, rule, state, arrayStringConcat(sentences, ' ') FROM report_plans ORDER BY committed_at, rule",
        "SELECT v.job, v.rule, v.class, v.how, v.outcome, dateDiff('second', r.started_at, v.issued_at), r.running_s "
        "FROM report_preemptions AS v INNER JOIN report_runs AS r ON r.run = v.run",
    )
    assert [(job, rule, state) for job, rule, state, _ in plans] == [
        (askers[0], "R1", "asker_started"),
        (askers[1], "R2", "asker_started"),
    ]
    for _, rule, _, told in plans:
        assert f"(org/teama, over its claim) yields 6 GPUs by {rule}: " in told
        assert "ρ of org/teama is 1." in told
    assert len(victims) == 2
    for job, _, protection, how, outcome, ordered_s, ran_s in victims:
        assert job in jobs
        assert (protection, how, outcome) == ("over", "requeue", "preempted")
        assert ordered_s >= CONTRACT_S
        assert ran_s >= CONTRACT_S
    here.agrees()
