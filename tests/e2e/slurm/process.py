"""A `tenure` that stays, as a process of its own beside a real Slurm; and what its book says afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.e2e.cli.driver import ROOT, Answer, environment, many, one
from tests.support.slurm import Cluster
from tests.support.slurm_accounts import RUNS, Ran, agree

TERMS: Final = """
[slurm.lab]
[[slurm.lab.rules]]
account = "team*"
budget = "org/{account}"

[collect.lab]
every = "1s"
timeout = "5s"
slurm_conf = "CONF"
"""


class Tenure:
    """A folder with a configuration and a book, and `tenure WORDS --json`, which tells of every poll, while it runs."""

    def __init__(self, folder: Path, slurm: Cluster, words: tuple[str, ...], more: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.slurm = slurm
        self.data = folder / "data"
        self.config = folder / "tenure.toml"
        self.config.write_text((TERMS + more).replace("CONF", slurm.lab.env["SLURM_CONF"]))
        self.log = folder / "tenure.log"
        self.begin_s = int(time.time())
        self._runs: list[tuple[Any, ...]] | None = None
        self._words = (*words, "--config", str(self.config), "--json")
        self._process: subprocess.Popen[bytes] | None = None

    # ------------------------------------------------------------------ while it runs

    def start(self) -> None:
        """Begin to poll every second; returns once the first poll is told."""
        before = len(self.polls())
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tenure", *self._words],
                cwd=ROOT,
                env=environment(self.data),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.until(lambda: len(self.polls()) > before)

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

    def polls(self) -> list[dict[str, Any]]:
        """What every poll said of itself."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]

    def more_polls(self, number: int = 3) -> None:
        """Wait for so many polls more."""
        before = len(self.polls())
        self.until(lambda: len(self.polls()) >= before + number)

    def until(self, so: Callable[[], bool], limit_s: float = 60) -> None:
        """Wait until it is so."""
        end = time.monotonic() + limit_s
        while not so():
            assert time.monotonic() < end, self.log.read_text()[-4000:]
            assert self._process is None or self._process.poll() is None, self.log.read_text()[-4000:]
            time.sleep(0.2)

    # ------------------------------------------------------------------ afterwards

    def over(self) -> None:
        """End every job, and stop once the last end is told."""
        self.slurm.lab.end_jobs()
        self.until(lambda: not {"running", "waiting", "suspended"} & set(self.polls()[-1]["jobs"]))
        self.stop()

    def ask(self, *sql: str) -> list[list[tuple[Any, ...]]]:
        """Rows of the book for each question; its runs besides, since every test ends with `agrees`."""
        *told, self._runs = (
            [tuple(row) for row in answer.json["rows"]]
            for answer in self.tell(*(("sql", each) for each in (*sql, RUNS)))
        )
        return told

    def agrees(self, lost: str = "") -> None:
        """The book has every run as sacct has it, to the second, and sreport counts the same without `lost`."""
        if self._runs is None:
            self.ask()
        assert self._runs is not None
        agree(self.slurm, {(job, attempt): Ran(*run) for job, attempt, *run in self._runs}, self.begin_s, lost=lost)

    def tell(self, *commands: tuple[str, ...]) -> list[Answer]:
        """What commands print, all in one process."""
        answers = many(self.data, [[*words, "--config", str(self.config), "--json"] for words in commands])
        assert not any(answer.err for answer in answers), answers
        return answers

    def once(self, *words: str) -> Answer:
        """One command beside the book."""
        return one(self.data, *words, "--config", str(self.config), "--json")
