"""From an event to its row: jobs start at 2,000 events a second, and a live worker, ticks and all, writes their runs.

The clock starts at the instant an event is due at its source, so a source, broker or worker that lags is in the
figure. It stops when the insert into `runs` has returned in the worker: from then on every reader finds the row, and
no poll blurs it. That all rows are there is looked up afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sized
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from bench import cluster
from bench.kafka import load, stage
from bench.kafka.worker import Task
from bench.report import Figure
from ledger.store.clickhouse import ClickHouse
from ledger.units import hour_floor_s, instant

RATE = 2_000
TICK_S = 30
GROUP = "latency"


def rows(seconds: int = 45) -> Iterator[Figure]:
    """One event a record, and a source that sends what has gathered 20 times a second."""
    for batch in (1, 100):
        found = sorted(latencies(seconds, batch))
        name = f"event to row, {RATE:,} events/s, {batch} a record"
        p50, p99 = (quantiles(found, n=100)[place] for place in (49, 98))
        yield Figure(f"{name}: p50", p50, "s", None)
        yield Figure(f"{name}: p99", p99, "s", 2, less=True, note=f"{len(found):,} runs, the slowest {found[-1]:.2f} s")


def latencies(seconds: int, batch: int) -> list[float]:
    """Seconds from due to written, for each run."""
    opens = instant(hour_floor_s(int(datetime.now(UTC).timestamp())))
    setup = [event.model_dump_json(exclude_none=True).encode() for event in cluster.setup(at=opens)]
    with TemporaryDirectory() as folder, stage.broker() as node, stage.server() as server:
        stage.fill(node.address, load.records(setup, cluster.CLUSTER, load.BATCH))
        seen = Path(folder, "seen.json")
        address = f"{server.address}/{GROUP}"
        task = Task(node.address, address, GROUP, stage.ends(node.address), seen=str(seen), tick_s=TICK_S)
        worker = stage.started("bench.kafka.worker", json.dumps(asdict(task)))
        try:
            stage.line(worker)  # the setup is taken
            said = stage.said_by(stage.PYTHON, "bench.kafka.pace", node.address, *map(str, (RATE, seconds, batch)))
            _wait_for(server.store(GROUP), said)
            stage.answer(worker)
            stage.line(worker)
            worker.wait(stage.LIMIT_S)
        finally:
            worker.kill()
        written: dict[str, float] = json.loads(seen.read_text())
    return [written[job] - due_s for job, due_s in said.items()]


def _wait_for(store: ClickHouse, jobs: Sized) -> None:
    """Until a reader finds as many runs as were started."""
    stage.until(lambda: store.query("SELECT count() FROM runs FINAL").rows == [(len(jobs),)])
    store.close()
