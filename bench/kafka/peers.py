"""The environment of peers that do not go beside our lock: made from `bench/peers.lock` when first asked for.

Quix Streams wants an older pydantic than ours; decoding costs the same with both. Our packages are found from the
folder the peers are started in. `python -m bench.kafka.peers lock` makes the lock anew from `bench/peers.in`.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from venv import create

from bench.kafka.stage import ROOT

WANTED = ROOT / "bench" / "peers.in"
LOCK = ROOT / "bench" / "peers.lock"
CACHE = ROOT / ".cache" / "peers"


class Absent(Exception):
    """Why a peer cannot be measured here."""


def python() -> Path:
    """The interpreter beside which the peers are installed; Absent where they cannot be."""
    made = CACHE / sha256(LOCK.read_bytes()).hexdigest()[:16]
    found = made / "bin" / "python"
    if not (made / "ready").exists():
        print("Making an environment for the peers (once)", file=sys.stderr, flush=True)
        create(made, with_pip=True, clear=True)
        install = ["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes"]
        done = subprocess.run(
            [str(found), "-m", "pip", *install, "-r", str(LOCK)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Absent((done.stderr.strip().splitlines() or ["pip failed"])[-1])
        (made / "ready").touch()
    return found


def lock() -> None:
    """Newest versions, with hashes and without addresses."""
    told = "python -m bench.kafka.peers lock"
    how = ["--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    how += ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", told]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([str(uv), "pip", "compile", *how, "--output-file", str(LOCK), str(WANTED)], check=True)


if __name__ == "__main__" and sys.argv[1:] == ["lock"]:
    lock()
