"""The order of the queue is published to Slurm where that is asked for, and given back where it no longer is."""

from __future__ import annotations

from pathlib import Path

import pytest

from enforcer.numbering import is_ours
from tests.e2e.slurm.enforced import BY_COMMANDS, Enforced, contract
from tests.e2e.slurm.process import Tenure
from tests.support.slurm import SLEEPS, Cluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.chaos]  # a minute each: `make chaos`, lest CI takes too long


def priorities(slurm: Cluster) -> dict[str, int]:
    said = slurm.run("squeue", "-h", "-t", "PD", "-o", "%i|%Q").splitlines()
    return {job.partition("_")[0]: int(priority) for job, priority in (line.split("|") for line in said)}


def by_slurm(slurm: Cluster) -> list[str]:
    """The jobs that wait, the one that Slurm starts next first."""
    found = priorities(slurm)
    return sorted(found, key=lambda job: -found[job])


def test_the_better_ranked_starts_before_the_older(slurm: Cluster, tmp_path: Path, stopped: list[Tenure]):
    here = Enforced(tmp_path, slurm, BY_COMMANDS + "publish_order = true\n", enforcement="enforce", grace_s=8)
    stopped.append(here)
    running = slurm.submit(SLEEPS, contract("10m"), nodes=4, gpus=8)
    slurm.wait(running, "RUNNING")
    here.start()
    free = slurm.submit(SLEEPS, nodes=4, gpus=8)
    older = slurm.submit(SLEEPS, contract("10m"), "--array=0", nodes=4, gpus=8)
    held = slurm.submit(SLEEPS, contract("10m"), "--hold", user="labbob", nodes=4, gpus=8)
    better = slurm.submit(SLEEPS, contract("10m"), "--nice=90000", user="labbob", nodes=4, gpus=8)
    assert by_slurm(slurm)[2:] == [better, held], "Slurm by itself would take the older ones first"
    here.until(lambda: by_slurm(slurm) == [better, older, free, held])
    found = priorities(slurm)
    assert [job for job, priority in found.items() if is_ours(priority)] == [better, older, free]
    assert found[held] == 0, "what is held stays held"
    said = here.log.read_text().count("were put into order")
    here.more_polls(6)
    assert priorities(slurm) == found
    assert here.log.read_text().count("were put into order") == said, "once is enough"

    slurm.run("scancel", running)
    slurm.wait(better, "RUNNING")
    assert set(priorities(slurm)) == {older, free, held}, "the others wait on"

    here.stop()
    here.config.write_text(here.config.read_text().replace("publish_order = true", "publish_order = false"))
    here.start()
    here.until(lambda: not any(is_ours(priority) for priority in priorities(slurm).values()))
    here.over()
    here.agrees()
