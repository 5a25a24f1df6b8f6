"""`tenure collect slurm` as people run it, and what its book says afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.cli.driver import ROOT, Answer, environment, one
from tests.support.chdb import run_python
from tests.support.slurm import Cluster

LOG = """
import sys
from pathlib import Path
from streams.runtime.embedded import LOG
from tenure import wiring
with wiring.open_store(wiring.Place(Path(sys.argv[1]))) as store:
    for archived in store.read_events(*LOG, -1, 1_000_000):
        print(archived.raw.decode())
"""
TERMS = """
[slurm.lab]
[[slurm.lab.rules]]
account = "team*"
budget = "org/{account}"

[collect.lab]
every = "1s"
timeout = "5s"
slurm_conf = "CONF"
"""


class Collected:
    """One collector's folder: its configuration, its book, its cursor, and the process while it runs."""

    def __init__(self, folder: Path, slurm: Cluster, more: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        self.config = folder / "tenure.toml"
        self.config.write_text(TERMS.replace("CONF", slurm.lab.env["SLURM_CONF"]) + more)
        self.log = folder / "collect.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin to poll every second; returns once the first poll is told."""
        before = self.polls()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tenure", "collect", "slurm", "--config", str(self.config), "--json"],
                cwd=ROOT,
                env=environment(self.data),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.until(lambda: self.polls() > before)

    def kill(self) -> None:
        """As a power cut does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """As an administrator does; it must end well."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(30) == 0, self.log.read_text()
            self._process = None

    def once(self, *more: str) -> Answer:
        """One poll."""
        return one(self.data, "collect", "slurm", "--config", str(self.config), "--once", "--json", *more)

    def reports(self) -> list[dict[str, Any]]:
        """What every poll said of itself."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]

    def polls(self) -> int:
        return len(self.reports())

    def more_polls(self, number: int = 3) -> None:
        """Wait for so many polls more."""
        before = self.polls()
        self.until(lambda: self.polls() >= before + number)

    def until(self, so: Callable[[], bool], limit_s: float = 40) -> None:
        """Wait until it is so."""
        end = time.monotonic() + limit_s
        while not so():
            assert time.monotonic() < end, self.log.read_text()[-4000:]
            if self._process is not None:
                assert self._process.poll() is None, self.log.read_text()[-4000:]
            time.sleep(0.2)

    def events(self) -> list[dict[str, Any]]:
        """The log of the book."""
        done = run_python(LOG, str(self.data))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """Rows of the book."""
        answer = one(self.data, "sql", sql, "--config", str(self.config), "--json")
        assert answer.code == 0, answer.err
        told = answer.json
        names = [column["name"] for column in told["columns"]]
        return [dict(zip(names, row, strict=True)) for row in told["rows"]]
