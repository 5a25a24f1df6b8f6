#!/usr/bin/env python3
"""Run a real Slurm on this machine: MariaDB, slurmdbd, slurmctld, a slurmd per node, fake GPUs. Debian, as root.

    python3 -m deploy.slurm.lab fetch                         Debian's packages and the lab's three users, once
    python3 -m deploy.slurm.lab up   [--data DIR] [--nodes N] a new cluster unless one runs; waits for its nodes
    python3 -m deploy.slurm.lab down [--data DIR]             end it if it runs; what it logged stays in DIR

In DIR: `slurm.conf`, which SLURM_CONF has to name for squeue, sbatch and scontrol; `log/`, `pids.json`, `ports.json`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from deploy.processes import GRACE_S, HOST, START_S, Trouble, locked, until
from deploy.slurm.daemons import Daemons
from deploy.slurm.layout import HERE, Shape, lay_out
from deploy.slurm.packages import check, fetch

DATA = Path("/var/tmp/tenure-slurm")
MARK = "TENURE_SLURM_LAB"  # in the environment of a lab's daemons, and of the steps they start: its folder


class Lab:
    """A cluster in a folder; what runs is read from there, so any process may stop what another started."""

    def __init__(self, data: Path, shape: Shape | None = None) -> None:
        self.data = data.resolve()
        self.shape = shape or Shape()
        self.daemons = Daemons(self.data)
        self._guard: tuple[str, ...] = ()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def env(self) -> dict[str, str]:
        """What a client of this cluster needs."""
        return self.daemons.env

    @property
    def rest_socket(self) -> Path:
        """Where slurmrestd takes whoever connects for `labrest`, an operator."""
        return self.daemons.rest_socket

    @property
    def rest_url(self) -> str:
        """Where slurmrestd asks for a token."""
        return f"http://{HOST}:{self.daemons.ports['rest']}"

    @property
    def running(self) -> dict[str, int]:
        """The daemons that run, with their pids. A pid that was given to another program since is not ours."""
        return {name: pid for name, pid in self._recorded().items() if self._ours(pid)}

    def up(self, *, with_parent: bool = False) -> None:
        """Start a new cluster unless one runs here, and wait until every node is idle.

        `with_parent`: the kernel kills the daemons should the process that started them die, however it dies.
        """
        check()
        self.data.mkdir(parents=True, exist_ok=True)
        with locked(self.data / "lock"):
            if "slurmctld" in self.running:
                return
            self._guard = ("setpriv", "--pdeathsig", "KILL") if with_parent else ()
            self._end()  # what a machine's crash or a half start left
            lay_out(self.data, self.shape)
            try:
                self._begin()
            except BaseException:  # Ctrl-C must not leave half a cluster behind
                self._end()
                raise

    def down(self) -> bool:
        """End the jobs and the daemons; False when nothing ran."""
        ran = bool(self.running)
        self._end()
        return ran

    def start(self, *names: str) -> None:
        """Start daemons (`slurmctld`, `slurmd-gn1`, …) that do not run, and wait until all of them serve."""
        for name in names:
            if name not in self.running:
                self._launch(name)
        for name in names:
            self._wait(name)

    def stop(self, name: str) -> None:
        """End one daemon by SIGTERM, after a while by SIGKILL."""
        self._signal(name, signal.SIGTERM)
        self.kill(name)

    def kill(self, name: str) -> None:
        """End one daemon as a power cut does; jobs go on, as their steps are processes of their own."""
        self._signal(name, signal.SIGKILL)
        if name in self._children:
            self._children.pop(name).wait()

    def end_jobs(self) -> None:
        """Cancel every job and wait until their processes are gone; arrays and heterogeneous jobs as wholes."""
        jobs = {job.partition("+")[0].partition("_")[0] for job in self.run("squeue", "-h", "-o", "%i").split()}
        if jobs:
            self.run("scancel", *sorted(jobs))
        if not until(lambda: not self.run("squeue", "-h", "-o", "%i").split(), 2 * GRACE_S):
            raise Trouble(f"These jobs do not end: {self.run('squeue', '-h', '-o', '%i %T')}")

    def token(self, user: str = "root") -> str:
        """A token for `rest_url`, valid for an hour."""
        return self.run("scontrol", "token", f"username={user}", "lifespan=3600").strip().removeprefix("SLURM_JWT=")

    def run(self, *command: str) -> str:
        """What a client program prints; Trouble with its words when it fails."""
        return self.daemons.run(*command)

    def sql(self, script: str) -> str:
        """What the accounting database says to it, without names of columns."""
        return self.daemons.run("mariadb", *self.daemons.mysql, "-N", "slurm_acct_db", stdin=script).strip()

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self.running.get(name)
        if pid is not None:
            with suppress(ProcessLookupError):  # ended by itself just now
                os.kill(pid, number)
            until(lambda: name not in self.running, GRACE_S)

    def _begin(self) -> None:
        login = ("--auth-root-authentication-method=socket", "--auth-root-socket-user=root", "--skip-test-db")
        # Two that begin at once take each other's temporary tables away, unless each has a place for its own.
        place = (f"--datadir={self.data}/mysql", f"--tmpdir={self.data}/tmp", "--user=root", "--skip-name-resolve")
        self.run("mariadb-install-db", "--no-defaults", *place, *login)
        self.start("munged", "mariadbd")
        self._make_database()
        self.start("slurmdbd")
        self.run("sacctmgr", "-i", "-Q", "add", "cluster", "lab")
        self.run("sacctmgr", "-i", "-Q", "load", f"file={HERE / 'accounts.cfg'}")
        self.start("slurmctld")
        self.start(*(f"slurmd-{node}" for node in self.shape.names), "slurmrestd-socket", "slurmrestd-jwt")

    def _make_database(self) -> None:
        password = (self.data / "password").read_text()
        script = "CREATE DATABASE slurm_acct_db;" + "".join(
            f"CREATE USER {user} IDENTIFIED BY '{password}'; GRANT ALL ON slurm_acct_db.* TO {user};"
            for user in ("slurm@'127.0.0.1'", "slurm@localhost")
        )
        self.daemons.run("mariadb", *self.daemons.mysql, stdin=script)

    def _launch(self, name: str) -> None:
        if name == "slurmrestd-socket":
            self.rest_socket.unlink(missing_ok=True)
        with (self.data / "log" / f"{name}.out").open("ab") as out:
            child = subprocess.Popen(
                self.daemons.command(name, self._guard),
                env=self.env | {MARK: str(self.data)},  # all: they hand theirs to the programs they run
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._children[name] = child
        (self.data / "pids.json").write_text(json.dumps(self._recorded() | {name: child.pid}))

    def _wait(self, name: str) -> None:
        until(lambda: self.daemons.serves(name) or name not in self.running, START_S)
        if name not in self.running or not self.daemons.serves(name):
            kept = "runs, and does not answer" if name in self.running else "has ended"
            raise Trouble(f"{name} did not start: it {kept}. Its last words:\n" + "\n".join(self._last_words(name)))

    def _last_words(self, name: str) -> list[str]:
        """Of what it printed, and of its own log, where it has one."""
        files = (self.data / "log" / file for file in (f"{name}.out", f"{name.removeprefix('slurmd-')}.log"))
        return [line for file in files if file.exists() for line in file.read_text(errors="replace").splitlines()[-8:]]

    def _end(self) -> None:
        if "slurmctld" in self.running:
            try:
                self.end_jobs()
            except (Trouble, subprocess.TimeoutExpired) as trouble:
                print(f"The jobs do not end ({trouble}); their processes are killed.", file=sys.stderr)
        for kind in ("slurmrestd", "slurmd-", "slurmctld", "slurmdbd", "mariadbd", "munged"):
            for name in [name for name in self.running if name.startswith(kind)]:
                self.stop(name)
        for pid in self._left_over():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for name in list(self._children):
            self.kill(name)
        (self.data / "pids.json").unlink(missing_ok=True)

    def _left_over(self) -> list[int]:
        """Steps and jobs that outlived their slurmd."""
        return [pid for pid in (int(entry.name) for entry in Path("/proc").glob("[0-9]*")) if self._ours(pid)]

    def _recorded(self) -> dict[str, int]:
        try:
            found: dict[str, int] = json.loads((self.data / "pids.json").read_text())
        except FileNotFoundError:
            return {}
        return found

    def _ours(self, pid: int) -> bool:
        """By its environment: the mark, or a job of this cluster. An administrator's shell has SLURM_CONF too.

        A child is known without: while it becomes the daemon, the kernel shows no environment of it.
        """
        for child in self._children.values():
            if child.pid == pid:
                return child.poll() is None  # which also reaps it
        try:
            has = set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False
        job = any(one.startswith(b"SLURM_JOB_ID=") for one in has)
        return f"{MARK}={self.data}".encode() in has or (job and f"SLURM_CONF={self.data}/slurm.conf".encode() in has)


def main(words: Sequence[str]) -> str:
    """Do what the words say and return the sentence to print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fetch", "up", "down"])
    parser.add_argument("--data", type=Path, default=DATA, help=f"the cluster's folder ({DATA})")
    parser.add_argument("--nodes", type=int, default=4, help="of 8 GPUs each")
    said = parser.parse_args(words)
    lab = Lab(said.data, Shape(nodes=said.nodes))
    match said.what:
        case "fetch":
            fetch()
            return "Slurm, MariaDB and the lab's users are installed"
        case "up":
            fetch()
            ran = "slurmctld" in lab.running
            lab.up()
            return f"Slurm {'already runs' if ran else 'runs'}: export SLURM_CONF={lab.data}/slurm.conf"
        case _:
            return "Slurm is stopped" if lab.down() else "Slurm was not running"


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except Trouble as trouble:
        sys.exit(str(trouble))
