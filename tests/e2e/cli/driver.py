"""Runs `tenure`: many commands in one process through typer's CliRunner, or one as people do, in a process of its own.

chDB admits one folder per process, and test processes have theirs, so no command runs inside a test process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import json, sys
from typer.testing import CliRunner
from tenure.cli import app
asked = json.load(sys.stdin)
told = []
for arguments in asked:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        import traceback
        fault = "".join(traceback.format_exception(result.exception))
    else:
        fault = ""
    told.append([result.exit_code, result.stdout, result.stderr + fault])
sys.__stdout__.write(json.dumps(told))
"""


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's own configuration; the book in `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE", "XDG", "COLUMNS"))}
    return kept | {"TENURE_DATA": str(folder), "HOME": str(folder.parent), "USER": "tester", "LOGNAME": "tester"}


def many(folder: Path, commands: list[list[str]], timeout_s: float = 280) -> list[Answer]:
    """All commands one after another in one new process."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(folder),
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Answer(*told) for told in json.loads(done.stdout)]


def one(folder: Path, *arguments: str, before: Callable[[], None] | None = None, timeout_s: float = 120) -> Answer:
    """One command as a program; `before` runs in its process first."""
    done = subprocess.run(
        [sys.executable, "-m", "tenure", *arguments],
        capture_output=True,
        cwd=ROOT,
        env=environment(folder),
        timeout=timeout_s,
        check=False,
        preexec_fn=before,
    )
    return Answer(
        done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")
    )
