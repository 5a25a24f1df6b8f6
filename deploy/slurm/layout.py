"""The lab's folder before anything runs: settings, keys, ports, and devices that stand for GPUs."""

import json
import os
import shutil
import socket
from dataclasses import dataclass, fields
from pathlib import Path
from string import Template

from deploy.processes import HOST, Trouble, free_ports
from deploy.slurm.packages import REST_USER

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the cluster is and how long Slurm waits: to kill what ignores SIGTERM, to start what was requeued."""

    nodes: int = 4
    gpus: int = 8
    cpus: int = 64
    memory_mb: int = 512_000
    kill_wait_s: int = 2
    cred_expire_s: int = 5

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes: gn1, gn2, and so on."""
        return tuple(f"gn{number}" for number in range(1, self.nodes + 1))


def lay_out(data: Path, shape: Shape) -> None:
    """Empty the folder of an earlier cluster and fill it for a new one."""
    _empty(data)
    data.chmod(0o755)
    for name in ("log", "munge", "tmp", "state", "rest", "dev", *(f"spool/{node}" for node in shape.names)):
        (data / name).mkdir(parents=True)
    (data / "munge" / "private").mkdir(mode=0o700)
    shutil.chown(data / "rest", REST_USER)
    _secret(data / "munge.key", os.urandom(1024))
    _secret(data / "jwt.key", os.urandom(32))
    _secret(data / "password", os.urandom(16).hex().encode())
    ports = free_ports("mysql", "dbd", "ctld", "rest", *shape.names)
    (data / "ports.json").write_text(json.dumps(ports))
    _settings(data, shape, ports)
    # A link to /dev/null is GPU enough for Slurm; a count without files is not.
    for gpu in range(shape.gpus):
        (data / "dev" / f"nvidia{gpu}").symlink_to("/dev/null")
    (data / "gres.conf").write_text(f"Name=gpu Type=h100 File={data}/dev/nvidia[0-{shape.gpus - 1}]\n")
    # Nothing asks for cgroups, and slurmd loads a plugin all the same; this one also starts where there are none.
    (data / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")


def _empty(data: Path) -> None:
    lying = {left.name for left in data.iterdir()} - {"lock"}
    if lying and "ports.json" not in lying:
        raise Trouble(f"{data} holds what is not the lab's. Name a folder that is empty, or new.")
    for name in lying:
        left = data / name
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()


def _settings(data: Path, shape: Shape, ports: dict[str, int]) -> None:
    host = socket.gethostname().partition(".")[0]
    values: dict[str, object] = {"data": data, "host": host, "password": (data / "password").read_text()}
    values |= {f"{name}_port": port for name, port in ports.items()}
    values |= {field.name: getattr(shape, field.name) for field in fields(Shape)}
    size = f"CPUs={shape.cpus} RealMemory={shape.memory_mb} Gres=gpu:h100:{shape.gpus} State=UNKNOWN"
    values["nodes"] = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr={HOST} Port={ports[name]} {size}" for name in shape.names
    )
    for name in ("slurm.conf", "slurmdbd.conf"):
        _secret(data / name, Template((HERE / name).read_text()).substitute(values).encode())
    (data / "slurm.conf").chmod(0o644)


def _secret(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)
