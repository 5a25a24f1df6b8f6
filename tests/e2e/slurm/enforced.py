"""`tenure up` on a real Slurm: its configuration, its decisions, its process, and what its book says afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.cli.driver import ROOT, environment, one
from tests.support.slurm import Cluster

CONFIG = """
[slurm.lab]
[[slurm.lab.rules]]
account = "team*"
budget = "org/{account}"

[collect.lab]
every = "1s"
timeout = "5s"
slurm_conf = "CONF"

[actuators.lab]
kind = "slurm"
conf = "CONF"
"""


class Enforced:
    """One cluster under Tenure, two teams with half of it each. `policy` are fields of `policy.set`."""

    def __init__(self, folder: Path, slurm: Cluster, **policy: Any) -> None:
        self.data = folder / "data"
        self.config = folder / "tenure.toml"
        self.config.write_text(CONFIG.replace("CONF", slurm.lab.env["SLURM_CONF"]))
        self.log = folder / "up.log"
        self._decisions = folder / "decisions.jsonl"
        self._process: subprocess.Popen[bytes] | None = None
        halves = [{"child": team, "share_percent": 50} for team in ("teama", "teamb")]
        self.decide("shares.set", parent="org", children=halves, expected_revision=0)
        self.decide("policy.set", preemption_delay_s=2, debug_delay_s=1, **policy)

    def decide(self, kind: str, **data: Any) -> None:
        """A decision, while nobody else has the book."""
        now = datetime.now(UTC).isoformat()
        told = {"cluster": "lab", "author": "root", **data}
        event = {
            "specversion": "1.0",
            "type": f"tenure.{kind}.v1",
            "id": f"{kind}/{now}",
            "source": "test",
            "time": now,
        }
        self._decisions.write_text(json.dumps(event | {"data": told}) + "\n")
        answer = one(self.data, "ingest", str(self._decisions), "--config", str(self.config))
        assert answer.code == 0, answer.err

    def start(self) -> None:
        """As a service would."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tenure", "up", "--config", str(self.config)],
                cwd=ROOT,
                env=environment(self.data),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

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
            assert self._process.wait(60) == 0, self.log.read_text()[-4000:]
            self._process = None

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the book, once it is stopped."""
        answer = one(self.data, "sql", sql, "--config", str(self.config), "--json")
        assert answer.code == 0, answer.err
        return [tuple(row) for row in answer.json["rows"]]
