"""A lab whose cluster is enforced by way of Kafka: a worker, enforcers, and the site's own receiver of webhooks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ledger.store.errors import StoreError
from streams.kafka.producer import Publisher
from tests.e2e.cli.driver import one
from tests.e2e.kafka.plant import RunningWorker, running
from tests.support.clickhouse import ClickHouseServer
from tests.support.kafka import Broker
from tests.support.receiver import SECRET, Call, Receiver

CLUSTER = "lab"
ENOUGH_S = 90.0
CONFIG = """
clickhouse = "CLICKHOUSE"
[kafka]
address = "KAFKA"
save_every_s = 0.3
[actuators.lab]
kind = "webhook"
url = "URL"
secret_file = "SECRET"
"""


def configured(folder: Path, broker: str, clickhouse: str, url: str) -> Path:
    """A home in which commands find all of it; where the book's folder would be."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    config = folder / ".config" / "tenure" / "tenure.toml"
    config.parent.mkdir(parents=True)
    told = CONFIG.replace("CLICKHOUSE", clickhouse).replace("KAFKA", broker)
    config.write_text(told.replace("URL", url).replace("SECRET", str(secret)))
    return folder / "book"


class Enforced:
    """One node of four GPUs; teams a and b have half of it each. Its events are told as they happen."""

    def __init__(self, folder: Path, broker: Broker, server: ClickHouseServer, publisher: Publisher) -> None:
        self.receiver = Receiver()
        self.book = configured(folder, broker.address, server.address, self.receiver.served.url)
        self.store = server.store("tenure")
        self._publisher = publisher

    def begin(self, **policy: Any) -> None:
        """The book opens: a node, shares, and unfunded work that has all of it."""
        before = datetime.now(UTC) - timedelta(minutes=10)
        quick: dict[str, Any] = {"preemption_delay_s": 2, "debug_delay_s": 1, "grace_s": 60, "hold_s": 60}
        self.tell("policy.set", author="root", opens_at=before.isoformat(), **(quick | policy))
        self.tell("node.observed", before, node="n", gpus_milli=4000, state="available", gpu_type="h100")
        halves = [{"child": team, "share_percent": 50} for team in ("a", "b")]
        self.tell("shares.set", author="root", parent="org", children=halves, expected_revision=0)
        self.run_unfunded("victim", before)

    def run_unfunded(self, job: str, at: datetime | None = None, gpus: int = 4) -> None:
        """A job without a budget starts."""
        self.tell("job.submitted", at, job=job, user="ann", gpus_milli=gpus * 1000, min_runtime_s=0, resumable=True)
        self.start(job, gpus, at)
        self.receiver.runs[job, "1"] = "stubborn"

    def ask(self, job: str, gpus: int = 4) -> None:
        """A funded job begins to wait."""
        shape = {"nodes": 1, "gpus_per_node_milli": gpus * 1000}
        terms: dict[str, Any] = {
            "user": "bob",
            "account": "org/a",
            "min_runtime_s": 3600,
            "gpus_milli": gpus * 1000,
            "shape": shape,
        }
        self.tell("job.submitted", job=job, **terms)

    def start(self, job: str, gpus: int = 4, at: datetime | None = None) -> None:
        self.tell("job.started", at, job=job, attempt="1", placements=[{"node": "n", "gpus_milli": gpus * 1000}])

    def end(self, job: str, outcome: str = "requeued") -> None:
        """The run is gone, for its scheduler too."""
        self.receiver.runs.pop((job, "1"), None)
        self.tell("job.ended", job=job, attempt="1", outcome=outcome)

    def tell(self, kind: str, at: datetime | None = None, **data: Any) -> None:
        """One event, of now."""
        now = at or datetime.now(UTC)
        event = {
            "specversion": "1.0",
            "type": f"tenure.{kind}.v1",
            "id": f"{kind}/{data.get('job', '')}/{now.isoformat()}",
            "source": "test",
            "time": now.isoformat(),
            "data": {"cluster": CLUSTER} | data,
        }
        self._publisher.send(json.dumps(event).encode())

    def worker(self) -> AbstractContextManager[RunningWorker]:
        return running(self.book)

    def enforcer(self) -> AbstractContextManager[RunningWorker]:
        return running(self.book, "enforce")

    def close(self) -> None:
        self.receiver.served.close()
        self.store.close()

    # ------------------------------------------------------------ what came of it

    def orders(self) -> list[Call]:
        """Orders as the receiver got them."""
        return [call for call in self.receiver.calls if call.kind == "preempt"]

    def told(self) -> list[str]:
        """The kinds of calls, without what only asks; the same one after the other once."""
        kinds = [call.kind for call in self.receiver.calls if call.kind != "left"]
        return [kind for n, kind in enumerate(kinds) if kinds[n - 1 : n] != [kind]]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Of the book, as of the worker's last write; none before there are tables."""
        try:
            return list(self.store.query(sql).rows)
        except StoreError:
            return []

    def verified(self) -> None:
        """Nothing was refused, and the book stands."""
        answer = one(self.book, "verify", "--json")
        assert (answer.code, answer.json["clean"]) == (0, True), answer.out
        assert self.rows("SELECT reason, sentence FROM report_dead_letters") == []

    def until(self, sql: str, wanted: list[tuple[Any, ...]]) -> None:
        """Wait until the book says so."""
        wait(lambda: self.rows(sql) == wanted, lambda: f"{self.rows(sql)} instead of {wanted}")


def wait(true: Callable[[], object], told: Callable[[], object] = lambda: "it never came to pass") -> None:
    """Look again and again."""
    until_s = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < until_s, told()
        time.sleep(0.2)
