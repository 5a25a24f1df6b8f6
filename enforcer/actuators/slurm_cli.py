"""Slurm told by its own commands: squeue, scontrol, scancel, found on the PATH of the environment that is given."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from enforcer.actuators.slurm import Failed, Row, failed
from enforcer.actuators.slurm_queue import base_of
from enforcer.orders import UNREACHABLE

TIMEOUT_S: Final = 30.0
"""A command gives up by itself 9 s after slurmctld stopped answering; scancel, which asks twice, after 18 s."""

_FIELDS: Final = ("JobArrayID", "State", "SubmitTime", "StartTime", "UserName", "Reservation", "admin_comment")
_NO_JOB: Final = "Invalid job id specified"
_NO_RESERVATION: Final = "Requested reservation is invalid"


class Commands:
    """The client, which also makes reservations. `env` has PATH, and SLURM_CONF where that is elsewhere than usual."""

    def __init__(self, env: Mapping[str, str], *, signal: str = "TERM", timeout_s: float = TIMEOUT_S) -> None:
        self._env = {**env, "SLURM_TIME_FORMAT": "%s"}
        self._signal = signal
        self._timeout_s = timeout_s

    def look(self, job: str) -> Row | Failed | None:
        """Of an array, the task, which `-r` shows also while it waits; of a heterogeneous job, the component."""
        said = self._run("squeue", "-h", "-r", "-t", "all", "-j", job.partition("+")[0], "-O", _format(_FIELDS))
        if said.failed is not None:
            return None if _NO_JOB in said.failed.sentence else said.failed
        rows = (line.split("|", len(_FIELDS)) for line in said.out.splitlines())
        return next((_row(values) for values in rows if values[0].strip() == job), None)

    def requeue(self, job: str) -> Failed | None:
        """`incomplete`: scontrol requeues what has ended, too, if it is not told not to."""
        return self._run("scontrol", "requeue", "incomplete", _whole(job)).failed

    def signal(self, job: str) -> Failed | None:
        """`--full`: without it only steps hear of it, and a batch script that runs none never does."""
        return _but_over(self._run("scancel", f"--signal={self._signal}", "--full", _whole(job)).failed)

    def cancel(self, job: str, state: str) -> Failed | None:
        """By its state: one that waits may be the next attempt."""
        return _but_over(self._run("scancel", f"--state={state}", _whole(job)).failed)

    def note(self, job: str, text: str) -> Failed | None:
        """In AdminComment, which users see in `scontrol show job` and sacct and cannot change."""
        return self._run("scontrol", "update", f"jobid={job}", f"AdminComment={text}").failed

    def reserve(self, name: str, nodes: tuple[str, ...], user: str, until_s: int) -> Failed | None:
        """IGNORE_JOBS: the victims are there still. FLEX: the asker may run on when the reservation ends, for which it
        would be killed. NO_HOLD_JOBS_AFTER: an asker that still waits then is not held.
        """
        if self._run("scontrol", "show", "reservation", name).failed is None:
            return None
        what = (f"ReservationName={name}", f"Nodes={','.join(nodes)}", f"Users={user}")
        when = ("StartTime=now", f"EndTime=uts{until_s}", "Flags=IGNORE_JOBS,FLEX,NO_HOLD_JOBS_AFTER")
        return self._run("scontrol", "create", "reservation", *what, *when).failed

    def assign(self, job: str, reservation: str) -> Failed | None:
        """Works on a running job as well, where only '' is of use."""
        return self._run("scontrol", "update", f"jobid={job}", f"ReservationName={reservation}").failed

    def assigned(self, reservation: str) -> tuple[str, ...] | Failed:
        """Those that wait and those that run."""
        said = self._run("squeue", "-h", "-r", "-R", reservation, "-O", _format(("JobArrayID",)))
        if said.failed is not None:
            return () if _NO_RESERVATION in said.failed.sentence else said.failed
        return tuple(line.strip("| ") for line in said.out.splitlines())

    def unreserve(self, name: str) -> Failed | None:
        """Slurm has no word for one that is no more but `invalid`."""
        failed = self._run("scontrol", "delete", f"ReservationName={name}").failed
        return None if failed is not None and _NO_RESERVATION in failed.sentence else failed

    def priorities(self) -> Mapping[str, int] | Failed:
        """Held ones have 0 and are left out. Tasks of one array that differ have 1, which is nobody's own."""
        said = self._run("squeue", "-h", "-t", "PD", "-o", "%i|%Q")
        if said.failed is not None:
            return said.failed
        found: dict[str, int] = {}
        for line in said.out.splitlines():
            job, _, priority = line.strip().partition("|")
            if int(priority):
                found[base_of(job)] = int(priority) if found.get(base_of(job), int(priority)) == int(priority) else 1
        return found

    def prioritise(self, job: str, priority: int) -> Failed | None:
        """Fixed by that: Slurm's multifactor plugin lets it alone. Its nice is gone. A held job is refused."""
        return self._run("scontrol", "update", f"jobid={job}", f"Priority={priority}").failed

    def give_back(self, jobs: Sequence[str]) -> Failed | None:
        """`release` reckons a priority anew, also where nothing was held."""
        return self._run("scontrol", "release", ",".join(jobs)).failed

    def _run(self, *command: str) -> _Said:
        try:
            done = subprocess.run(
                command, env=self._env, capture_output=True, text=True, timeout=self._timeout_s, check=False
            )
        except FileNotFoundError:
            return _Said("", Failed(UNREACHABLE, f"There is no `{command[0]}` on the PATH: install slurm-client."))
        except subprocess.TimeoutExpired:
            return _Said("", Failed(UNREACHABLE, f"`{command[0]}` did not answer within {self._timeout_s:g} s."))
        # scancel says what is wrong and ends with 0.
        said = " ".join(done.stderr.split())
        if done.returncode == 0 and not (command[0] == "scancel" and "error:" in said):
            return _Said(done.stdout, None)
        return _Said(
            "", failed(said or " ".join(done.stdout.split()) or f"`{command[0]}` ended with {done.returncode}")
        )


class _Said(NamedTuple):
    out: str
    failed: Failed | None


def _but_over(failed: Failed | None) -> Failed | None:
    """A job that ended between the look and the call is no failure."""
    return None if failed is not None and "already completing or completed" in failed.sentence else failed


def _format(fields: tuple[str, ...]) -> str:
    return ",".join(f"{field}:|" for field in fields)


def _row(values: list[str]) -> Row:
    job, state, submit, start, user, reservation, note = (value.strip() for value in values[: len(_FIELDS)])
    return Row(
        job, frozenset({state}), submit, start, user, reservation.replace("(null)", ""), note.replace("(null)", "")
    )


def _whole(job: str) -> str:
    """Components of a heterogeneous job leave together, by the job's own id."""
    return job.partition("+")[0]
