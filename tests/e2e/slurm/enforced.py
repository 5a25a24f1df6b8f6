"""`tenure up` on a real Slurm: its configuration, its decisions, and the jobs its tests are about."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

BY_COMMANDS: Final = """
[actuators.lab]
kind = "slurm"
conf = "CONF"
"""
REQUEUES: Final = "--comment=tenure: resumable=yes"
"""Nobody pays for it, and it may be requeued."""


def contract(length: str, *more: str) -> str:
    """The comment of a job with a minimum runtime, for which its team's budget pays."""
    return f"--comment=tenure: {' '.join((f'min_runtime={length}', *more))}"


GANG: Final = contract("10m", "resumable=yes")


class Enforced(Tenure):
    """One cluster under Tenure, two teams with half of it each. `policy` are fields of `policy.set`.

    `more` goes on from the table `collect.lab` of the configuration. Books of one policy are copies of the first.
    """

    def __init__(self, folder: Path, slurm: Cluster, more: str = BY_COMMANDS, **policy: Any) -> None:
        super().__init__(folder, slurm, ("up",), more)
        asked = {"preemption_delay_s": 2, "debug_delay_s": 1, "hold_s": 120, **policy}
        made = slurm.lab.data / "books" / "_".join(f"{name}-{asked[name]}" for name in sorted(asked))
        if not made.exists():
            self._decide(folder / "decisions.jsonl", asked)
            made.parent.mkdir(exist_ok=True)
            shutil.move(self.data, made)
        shutil.copytree(made, self.data, symlinks=True)

    def _decide(self, decisions: Path, policy: dict[str, Any]) -> None:
        halves = [{"child": team, "share_percent": 50} for team in ("teama", "teamb")]
        decisions.write_text(
            _decision("shares.set", parent="org", children=halves, expected_revision=0)
            + _decision("policy.set", **policy)
        )
        answer = self.once("ingest", str(decisions))
        assert answer.code == 0, answer.err


def _decision(kind: str, **data: Any) -> str:
    now = datetime.now(UTC).isoformat()
    told = {"cluster": "lab", "author": "root", **data}
    event = {"specversion": "1.0", "type": f"tenure.{kind}.v1", "id": f"{kind}/{now}", "source": "test", "time": now}
    return json.dumps(event | {"data": told}) + "\n"


@pytest.fixture
def stopped() -> Iterator[list[Tenure]]:
    """What a test started, which ends with it."""
    started: list[Tenure] = []
    yield started
    for one in started:
        one.stop()


def states(slurm: Cluster, jobs: list[str]) -> dict[str, str]:
    """The state of each, '' of one that Slurm does not know."""
    said = slurm.run("squeue", "-h", "-t", "all", "-o", "%i|%T").splitlines()
    found = dict(line.split("|") for line in said)
    return {job: found.get(job, "") for job in jobs}


def nodes_of(slurm: Cluster, job: str) -> set[str]:
    """Where a job runs."""
    return set(slurm.run("scontrol", "show", "hostnames", slurm.row(job).nodes).split())


def one_per_node(
    slurm: Cluster, *options: str, user: str = "labalice", gpus: int = 8, script: str = SLEEPS
) -> list[str]:
    """A job on every node, all of them running."""
    jobs = [slurm.submit(script, *options, user=user, gpus=gpus) for _ in slurm.lab.shape.names]
    for job in jobs:
        slurm.wait(job, "RUNNING")
    return jobs
