"""Kafka, a ClickHouse server, workers in processes of their own, and a configuration that names them."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.e2e.cli.driver import ROOT, environment
from tests.support.kafka import Broker
from tests.support.worker import ends

ENOUGH_S = 90.0


def configured(folder: Path, broker: Broker, clickhouse: str = "", await_s: int = 60) -> Path:
    """A home in which commands find all of it; the book's folder, or what stands for it on a server."""
    config = folder / ".config" / "tenure" / "tenure.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    store = f'clickhouse = "{clickhouse}"\n' if clickhouse else ""
    kafka = f'[kafka]\naddress = "{broker.address}"\nsave_every_s = 0.3\ntick_s = 0\nawait_s = {await_s}\n'
    config.write_text(store + kafka)
    return folder / "book"


class RunningWorker:
    """`tenure worker`, or another command that runs until it is told to stop, as a service manager runs it."""

    def __init__(self, book: Path, command: str) -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tenure", command, "--health-port", str(self.port)],
            cwd=ROOT,
            env=environment(book),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def health(self) -> dict[str, Any]:
        """What its page says; nothing while it does not answer."""
        try:
            with urlopen(f"{self.address}/healthz", timeout=5) as page:
                found: dict[str, Any] = json.load(page)
                return found
        except OSError:
            return {"partitions": []}

    def begin(self) -> None:
        """Wait until it has partitions."""
        until_s = time.monotonic() + ENOUGH_S
        while not self.health()["partitions"]:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until_s, "no partition was given to the worker"
            time.sleep(0.1)

    def catch_up(self, broker: Broker) -> None:
        """Wait until all that is in Kafka now is checkpointed."""
        wanted = {str(partition): end for partition, end in ends(broker.address).items()}
        until_s = time.monotonic() + ENOUGH_S
        while True:
            lanes = {lane["partition"]: lane for lane in self.health()["partitions"]}
            if all(name in lanes and done(lanes[name], end) for name, end in wanted.items()):
                return
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until_s, f"{lanes} instead of {wanted}"
            time.sleep(0.1)

    def kill(self) -> None:
        """As a power cut does."""
        self.process.kill()
        self.process.communicate()

    def stop(self) -> tuple[int, str]:
        """Its exit code after SIGTERM, and what it logged."""
        self.process.send_signal(signal.SIGTERM)
        _, logged = self.process.communicate(timeout=60)
        return self.process.returncode, logged


def done(lane: dict[str, Any], end: int) -> bool:
    return bool(lane["next_offset"] >= end and not lane["unsaved"])


@contextmanager
def running(book: Path, command: str = "worker") -> Iterator[RunningWorker]:
    """A worker, gone afterwards whatever happens."""
    worker = RunningWorker(book, command)
    try:
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def flat(text: str) -> str:
    """Without the line ends of a page."""
    return re.sub(r"\s+", " ", text)
