"""A live Slurm by its own commands, run on this host: squeue, sacct, scontrol."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Final

from ledger.units import instant
from streams.sources.slurm.live.port import Answer, LiveFormat, Silent, Told

COLUMNS: Final = (
    "JobID,JobIDRaw,User,Account,Partition,QOS,Reservation,State,ExitCode,Submit,Eligible,Start,End,ElapsedRaw,Suspended,"
    "NNodes,NodeList,AllocTRES,ReqTRES,TimelimitRaw,Comment"
)
"""Comment last: it alone may hold the delimiter."""
OVER: Final = "COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,REQUEUED"
"""With states named, sacct's windows have jobs too that were held while they ran; without, they lose them for good."""
IDS_AT_ONCE: Final = 2_000
"""Job numbers of one command: well below what an argument may be long."""
SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Commands:
    """`environment` is all the commands get; `folder` is where they are, '' for wherever PATH finds them."""

    environment: Mapping[str, str]
    timeout_s: int
    folder: str = ""

    def jobs(self) -> Answer:
        """`squeue --json`: `--states=all` for those that ended a short while ago."""
        return self._ask("slurm-jobs-json", "squeue", "--json", "--states=all")

    def ended(self, since_s: int, until_s: int) -> Answer:
        """`sacct` over the window, by the states that are an end."""
        window = ("-S", _iso(since_s), "-E", _iso(until_s + 1))
        return self._ask("sacct", "sacct", "-a", *_SACCT, *window, f"--state={OVER}")

    def accounting(self, jobs: Sequence[str]) -> Answer:
        """`sacct -j`, which knows no window."""
        data = b""
        for first in range(0, len(jobs), IDS_AT_ONCE):
            told = self._ask("sacct", "sacct", *_SACCT, "-j", ",".join(jobs[first : first + IDS_AT_ONCE]))
            if isinstance(told, Silent):
                return told
            data += told.data
        return Told("sacct", data)

    def nodes(self) -> Answer:
        """`scontrol show node`, the same in every version."""
        return self._ask("scontrol-node", "scontrol", "-a", "show", "node")

    def reservations(self) -> Answer:
        """`scontrol show reservation`, one in each line."""
        return self._ask("scontrol-reservation", "scontrol", "-a", "-o", "show", "reservation")

    def _ask(self, format: LiveFormat, *command: str) -> Answer:
        path = str(Path(self.folder) / command[0]) if self.folder else command[0]
        line = shlex.join((path, *command[1:]))[:SHOWN]
        try:
            done = subprocess.run(
                (path, *command[1:]),
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Silent(
                f"`{line}` gave no answer in {self.timeout_s} s: is slurmctld (for sacct: slurmdbd) up? "
                "If it only is slow, raise `timeout`"
            )
        except OSError as wrong:
            return Silent(
                f"`{line}` cannot be run ({wrong.strerror}): install Slurm's client commands on this host, or say in "
                "`folder` where they are"
            )
        if done.returncode:
            why = " ".join(done.stderr.decode("utf-8", "replace").split())[:SHOWN] or "it says nothing"
            return Silent(f"`{line}` failed with {done.returncode}: {why}. Run it by hand as this user")
        return Told(format, done.stdout)


_SACCT: Final = ("-D", "-X", "-P", f"--format={COLUMNS}")


def _iso(second: int) -> str:
    """As sacct reads it; the commands run in UTC."""
    return instant(second).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
