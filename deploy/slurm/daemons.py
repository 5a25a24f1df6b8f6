"""The lab's daemons by name: how each is started, and how one sees that it serves."""

import json
import socket
import subprocess
from pathlib import Path

from deploy.processes import HOST, PATH, START_S, Trouble
from deploy.slurm.packages import REST_USER


class Daemons:
    """`munged`, `mariadbd`, `slurmdbd`, `slurmctld`, `slurmd-NODE`, `slurmrestd-socket`, `slurmrestd-jwt`."""

    def __init__(self, data: Path) -> None:
        self.data = data

    @property
    def env(self) -> dict[str, str]:
        """What a client of this cluster needs."""
        return {"PATH": PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "SLURM_CONF": str(self.data / "slurm.conf")}

    @property
    def ports(self) -> dict[str, int]:
        """Who listens where."""
        found: dict[str, int] = json.loads((self.data / "ports.json").read_text())
        return found

    @property
    def rest_socket(self) -> Path:
        """Where one slurmrestd takes whoever connects for its own user."""
        return self.data / "rest" / "socket"

    @property
    def mysql(self) -> tuple[str, ...]:
        """Options of MariaDB's clients."""
        return "--no-defaults", f"--socket={self.data}/mysql.sock", "--user=root"

    def run(self, *command: str, stdin: str | None = None) -> str:
        """What a client program prints; Trouble with its words when it fails."""
        done = subprocess.run(
            command, env=self.env, input=stdin, capture_output=True, text=True, timeout=START_S, check=False
        )
        if done.returncode:
            raise Trouble(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def command(self, name: str, guard: tuple[str, ...]) -> list[str]:
        """The command line; `guard` goes in front of it, behind a change of user, which would undo it."""
        data = self.data
        as_rest = ("setpriv", f"--reuid={REST_USER}", f"--regid={REST_USER}", "--clear-groups", *guard)
        match name.split("-"):
            case ["munged"]:
                own = data / "munge" / "private"
                files = (f"--log-file={own}/log", f"--pid-file={own}/pid", f"--seed-file={own}/seed")
                keys = (f"--key-file={data}/munge.key", f"--socket={data}/munge/socket")
                return [*guard, "munged", "--foreground", *keys, *files]
            case ["mariadbd"]:
                place = (f"--datadir={data}/mysql", f"--tmpdir={data}/tmp", f"--pid-file={data}/mysql.pid")
                listen = (f"--bind-address={HOST}", f"--port={self.ports['mysql']}", "--skip-name-resolve")
                # Nothing here has to outlive a power cut.
                quick = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync")
                size = ("--innodb-log-file-size=64M", "--innodb-lock-wait-timeout=900")
                return [*guard, "mariadbd", *self.mysql, *place, *listen, *quick, *size]
            case ["slurmdbd"]:
                return [*guard, "slurmdbd", "-D"]
            case ["slurmctld"]:
                return [*guard, "slurmctld", "-D", "-i"]
            case ["slurmd", node]:
                return [*guard, "slurmd", "-D", "-N", node]
            # Two processes, because with SLURM_JWT in its environment one sends a token with all that it asks.
            case ["slurmrestd", "socket"]:
                return [*as_rest, "slurmrestd", "-a", "rest_auth/local", f"unix:{self.rest_socket}"]
            case ["slurmrestd", "jwt"]:
                listen = ("-a", "rest_auth/jwt", f"{HOST}:{self.ports['rest']}")
                return [*as_rest, "env", "SLURM_JWT=daemon", "slurmrestd", *listen]
            case _:
                raise ValueError(name)

    def serves(self, name: str) -> bool:
        """Whether it answers now."""
        match name.split("-"):
            case ["munged"]:
                return self._answers("munge", f"--socket={self.data}/munge/socket", "--no-input")
            case ["mariadbd"]:
                return self._answers("mariadb-admin", *self.mysql, "ping")
            case ["slurmdbd"]:
                return self._answers("sacctmgr", "-n", "show", "cluster")
            case ["slurmctld"]:
                return self._answers("scontrol", "ping")
            case ["slurmd", node]:
                state = self.run("sinfo", "-h", "-N", "-n", node, "-o", "%T").strip()
                return state in {"idle", "mixed", "allocated"}
            case ["slurmrestd", "socket"]:
                return _listens(socket.AF_UNIX, str(self.rest_socket))
            case _:
                return _listens(socket.AF_INET, (HOST, self.ports["rest"]))

    def _answers(self, *command: str) -> bool:
        done = subprocess.run(command, env=self.env, capture_output=True, timeout=START_S, check=False)
        return done.returncode == 0


def _listens(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with socket.socket(family) as probe:
        return probe.connect_ex(address) == 0
