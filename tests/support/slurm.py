"""A real Slurm for tests: deploy/slurm's lab, and jobs on it.

    def test_something(slurm: Cluster) -> None:
        job = slurm.submit(nodes=2)                 # a gang of two whole nodes
        slurm.wait(job, "RUNNING")

There is one cluster per process that runs tests, started when a test first asks for it, and every test finds it empty.
Where Slurm cannot run the fixture skips and says why; in CI a skip is a failure.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from deploy.processes import Missing, until
from deploy.slurm.lab import Lab
from deploy.slurm.layout import Shape
from deploy.slurm.packages import check

SLEEPS: Final = "exec sleep 600"
STUBBORN: Final = "trap '' TERM; while :; do sleep 0.1; done"
"""Ignores SIGTERM, as does what it starts."""
GONE: Final = ""
USERS: Final = {"labalice": "teama", "labbob": "teamb"}


class Row(NamedTuple):
    """A job as squeue shows it; times in epoch seconds."""

    state: str
    submit: str
    nodes: str
    reason: str


class Cluster:
    """The lab, with what tests say to it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @property
    def env(self) -> dict[str, str]:
        """For clients; times are epoch seconds."""
        return self.lab.env | {"SLURM_TIME_FORMAT": "%s"}

    def run(self, *command: str) -> str:
        """What a client prints; raises Trouble when it fails."""
        return self.lab.run("env", "SLURM_TIME_FORMAT=%s", *command)

    def submit(
        self,
        script: str = SLEEPS,
        *options: str,
        user: str = "labalice",
        nodes: int = 1,
        gpus: int = 8,
        on: str = "",
    ) -> str:
        """A job of `user` with GPUs on each of its nodes; its id."""
        who = (f"--uid={user}", f"--gid={user}", f"--account={USERS[user]}", "--chdir=/tmp", "--output=/dev/null")
        size = (f"--nodes={nodes}", f"--gres=gpu:h100:{gpus}", *((f"--nodelist={on}",) if on else ()))
        return self.run("sbatch", "--parsable", *who, *size, *options, f"--wrap={script}").strip()

    def running(self, script: str = SLEEPS, *options: str, user: str = "labalice", gpus: int = 8, on: str = "") -> str:
        """A job of one node that runs, and whose script had the time to set its traps."""
        job = self.submit(script, *options, user=user, gpus=gpus, on=on)
        self.wait(job, "RUNNING")
        time.sleep(0.3)
        return job

    def row(self, job: str) -> Row:
        """How it stands; of a job that Slurm has forgotten every field is empty."""
        said = self.run("squeue", "-h", "-t", "all", "-o", "%i|%T|%V|%N|%r").splitlines()
        rows = [line.split("|") for line in said]
        return next((Row(*row[1:]) for row in rows if row[0] == job), Row(GONE, "", "", ""))

    def wait(self, job: str, *states: str, limit_s: float = 20.0) -> Row:
        """The job once it is in one of the states."""
        if not until(lambda: self.row(job).state in states, limit_s):
            raise AssertionError(f"job {job} is {self.row(job)}, not {' or '.join(states)}")
        return self.row(job)

    def saved(self, job: str) -> None:
        """Have slurmctld write down what happened so far. Killed before, it has forgotten it afterwards.

        That backfill started a job is not written down before something else changes, so something has to.
        """
        now = time.time()
        self.run("scontrol", "update", f"jobid={job}", "Comment=saved")
        assert until(lambda: (self.lab.data / "state" / "job_state").stat().st_mtime > now, 12), "nothing is saved"

    def clear(self) -> None:
        """No jobs, no reservations, no node drained, every daemon running."""
        self.lab.start("slurmctld")
        for node in self.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N").split():
            self.run("scontrol", "update", f"nodename={node}", "state=resume")
        self.lab.start(*(f"slurmd-{node}" for node in self.lab.shape.names))
        self.lab.end_jobs()
        for line in self.run("scontrol", "-o", "show", "reservation").splitlines():
            if line.startswith("ReservationName="):
                self.run("scontrol", "delete", line.split()[0])


@pytest.fixture(scope="session")
def slurm_lab() -> Iterator[Lab]:
    """This process's cluster. In a folder that other users may enter, as slurmrestd has to."""
    try:
        check()
    except Missing as missing:
        pytest.skip(str(missing))
    data = Path(tempfile.mkdtemp(prefix="tenure-slurm-"))
    lab = Lab(data, Shape())
    try:
        lab.up(with_parent=True)
        yield lab
    finally:
        lab.down()
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def slurm(slurm_lab: Lab) -> Cluster:
    """The cluster, empty."""
    cluster = Cluster(slurm_lab)
    cluster.clear()
    return cluster


@pytest.fixture
def notes() -> Iterator[Path]:
    """A folder that jobs of any user may write to."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-notes-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
