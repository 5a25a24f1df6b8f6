"""Debian's packages and the lab's users: whether they are there, and how they get there."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from deploy.processes import PATH, Missing, Trouble

PACKAGES = (
    *("slurm-client", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurm-wlm-basic-plugins"),
    *("slurm-wlm-mysql-plugin", "slurm-wlm-jwt-plugin", "munge", "mariadb-server"),
)
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sbatch", "sacctmgr", "munged", "mariadbd")
REST_USER = "labrest"
USERS = ("labalice", "labbob", REST_USER)
FETCH = "python3 -m deploy.slurm.lab fetch"


def check() -> None:
    """Raise Missing with what to do where the lab cannot run."""
    if os.geteuid() != 0:
        raise Missing("The Slurm lab starts daemons and jobs of several users, so it has to run as root.")
    lacking = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    lacking += [user for user in USERS if not _exists(user)]
    if lacking:
        raise Missing(f"The Slurm lab lacks {', '.join(lacking)}. On Debian, as root: {FETCH}")


def fetch() -> None:
    """Install what `check` asks for, without letting Debian start any daemon; nothing happens where all is there."""
    if os.geteuid() != 0:
        raise Missing("Packages are installed as root.")
    if any(shutil.which(name, path=PATH) is None for name in PROGRAMS):
        apt = shutil.which("apt-get")
        if apt is None:
            raise Missing(f"There is no apt-get here. Install what brings {', '.join(PROGRAMS)}.")
        _install(apt)
    for user in USERS:
        if not _exists(user):
            _ran("useradd", "--no-create-home", "--home-dir", "/tmp", "--shell", "/bin/bash", user)


def _install(apt: str) -> None:
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        _ran(apt, "update", "-qq")
        _ran(apt, "install", "-qq", "--no-install-recommends", *PACKAGES)
    finally:
        if ours:
            policy.unlink()


def _ran(*command: str) -> None:
    env = os.environ | {"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(f"`{' '.join(command)}` failed:\n" + (done.stdout + done.stderr)[-2000:])


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
