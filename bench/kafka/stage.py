"""Where the contest is held: a broker with a load in its topics, a store's server, processes and what they cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from bench.kafka.load import Key
from deploy.kafka.node import Node
from streams.kafka.admin import admin
from streams.kafka.producer import publisher
from streams.topics import EVENTS, TOPICS
from tests.support.clickhouse import ClickHouseServer

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
LIMIT_S = 600
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@contextmanager
def broker(partitions: int = 1) -> Iterator[Node]:
    """A Kafka node of its own with Tenure's topics, gone afterwards."""
    with TemporaryDirectory() as folder:
        node = Node(Path(folder))
        node.up(with_parent=True)
        try:
            with admin(node.address) as asked:
                asked.create([replace(topic, partitions=min(partitions, topic.partitions)) for topic in TOPICS], 1)
            yield node
        finally:
            node.kill()


def fill(address: str, load: Iterable[Key]) -> None:
    """Put records into the topic of events, as our own publisher does: acknowledged, packed with zstd."""
    with publisher(address) as sender:
        sender.put_all(EVENTS.name, ((key, value) for key, value in load))


def ends(address: str) -> dict[str, int]:
    """The end of each partition of events that is not empty."""
    with admin(address) as asked:
        spans = asked.spans({name: topic for name, topic in asked.found().items() if name == EVENTS.name})
    return {str(partition): span.end for partition, span in spans.items() if span.end}


@contextmanager
def server() -> Iterator[ClickHouseServer]:
    """ClickHouse's HTTP interface over chDB, in a process of its own: what stands in for a server here."""
    with ClickHouseServer() as found:
        yield found


def said_by(python: Path | str, module: str, *arguments: str) -> dict[str, Any]:
    """Run a contestant to its end; what it said last. RuntimeError where it said nothing, or does not end."""
    try:
        done = subprocess.run(
            [str(python), "-m", module, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"{module} did not end within {LIMIT_S} s") from late
    for line_ in reversed(done.stdout.splitlines()):
        if line_.startswith("{"):
            return dict(json.loads(line_))
    raise RuntimeError(f"{module}: {(done.stderr.strip().splitlines() or ['nothing'])[-1]}")


def started(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Begin a process that is talked to."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Its next line of JSON."""
    assert process.stdout is not None
    for said in process.stdout:
        if said.startswith("{"):
            return dict(json.loads(said))
    raise RuntimeError("the worker ended without a word; its last words are on stderr")


def answer(process: subprocess.Popen[str]) -> None:
    """The line it waits for."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def until(true: Callable[[], bool]) -> None:
    """Look again and again; TimeoutError after LIMIT_S."""
    end_s = monotonic() + LIMIT_S
    while not true():
        if monotonic() > end_s:
            raise TimeoutError
        sleep(0.5)


def cpu_s(pid: int | None) -> float:
    """CPU seconds a running process has taken."""
    if pid is None:
        return 0.0
    numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / TICKS_A_SECOND
