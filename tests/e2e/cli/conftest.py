"""A demo of three days and what every command says of it, made once for all test processes."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from tests.e2e.cli.driver import Answer, many

DAYS = "3"

LISTINGS = {
    "demo": ["demo"],
    "accounts": ["accounts"],
    "accounts below": ["accounts", "aurora-lab/science", "--pool", "H100", "--days", "1"],
    "shares show": ["shares", "show"],
    "shares history": ["shares", "history", "aurora-lab/science"],
    "shares requests": ["shares", "requests"],
    "grants list": ["grants", "list"],
    "jobs": ["jobs", "--limit", "10"],
    "jobs preempted": ["jobs", "--outcome", "preempted", "--account", "aurora-lab/language"],
    "queue": ["queue", "--limit", "5"],
    "plans": ["plans"],
    "policy": ["policy"],
    "enforcement-log": ["enforcement-log"],
    "sql": [
        "sql",
        "SELECT account, sum(delivered_gpu_ms) AS delivered_gpu_ms FROM report_account_hours GROUP BY account",
    ],
    "verify": ["verify"],
    "replay": ["replay"],
    "dead-letters list": ["dead-letters", "list"],
    "doctor": ["doctor"],
    "report": ["report", "--last", "1d"],
    "metrics": ["metrics", "--last", "1d"],
}
"""Commands that change nothing, each asked with and without --json."""


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder all test processes share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@contextmanager
def once(done: Path) -> Iterator[bool]:
    """Whether the caller is the one to make `done`; the others wait for it."""
    with done.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield not done.exists()


@pytest.fixture(scope="session")
def book(common: Path) -> Path:
    """The data folder of the demo, for copying: chDB admits one process, and test processes share this folder."""
    folder, told = common / "cli-demo", common / "cli-demo.json"
    with once(told) as mine:
        if mine:
            (answer,) = many(folder, [["demo", "--days", DAYS]])
            assert answer.code == 0, answer.err
            told.write_text(json.dumps([answer.code, answer.out, answer.err]))
    return folder


@pytest.fixture(scope="session")
def first(book: Path, common: Path) -> Answer:
    """What `tenure demo` said when it filled the book."""
    return Answer(*json.loads((common / "cli-demo.json").read_text()))


@pytest.fixture(scope="session")
def answers(book: Path, common: Path) -> dict[str, tuple[Answer, Answer]]:
    """What each listing says, as a table and as JSON."""
    told = common / "cli-answers.json"
    with once(told) as mine:
        if mine:
            asked = [arguments + extra for arguments in LISTINGS.values() for extra in ([], ["--json"])]
            own = copied(book, common / "cli-answers")
            told.write_text(json.dumps([[a.code, a.out, a.err] for a in many(own, asked)]))
    found = [Answer(*row) for row in json.loads(told.read_text())]
    return {name: (found[2 * at], found[2 * at + 1]) for at, name in enumerate(LISTINGS)}


@pytest.fixture
def copy(book: Path, tmp_path: Path) -> Path:
    """A copy of the demo, to ask and to write to."""
    return copied(book, tmp_path / "copy")


def copied(book: Path, to: Path) -> Path:
    """A copy that opens: ClickHouse wants its symbolic links to be links."""
    return Path(shutil.copytree(book, to, symlinks=True))
