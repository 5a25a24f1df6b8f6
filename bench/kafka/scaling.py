"""Two clusters in two partitions: one worker with both, beside two workers in two processes with one each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median

from bench.kafka import load, stage
from bench.kafka.worker import Task
from bench.report import Figure
from deploy.kafka.node import Node
from tests.support.clickhouse import ClickHouseServer

CLUSTERS = ("north", "south")
"""Names whose hashes fall on different partitions of two; `fill` would say otherwise."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Events a second of all workers together; how many cores each kind of process kept busy meanwhile."""

    rate: float
    workers: float
    store: float
    broker: float

    @property
    def cores(self) -> float:
        return self.workers + self.store + self.broker


def two_workers(events: int = 60_000, rounds: int = 3) -> Iterator[Figure]:
    """In turn; all workers begin at the same moment, when the group has settled."""
    found: dict[int, list[Shared]] = {1: [], 2: []}
    with stage.broker(partitions=2) as node, stage.server() as server:
        for name in CLUSTERS:
            stage.fill(node.address, load.records(load.life(events, name), name, load.BATCH))
        until = stage.ends(node.address)
        assert len(until) == len(CLUSTERS), f"{CLUSTERS} fell into {until}"
        for turn in range(rounds):
            for workers, told in found.items():
                told.append(together(node, server, until, workers, f"s{turn}w{workers}"))
    for workers, told in found.items():
        busy = (median(shared.workers for shared in told), median(shared.store for shared in told))
        note = "cores busy: workers {:.1f}, store {:.1f}, broker {:.1f}; there are {}".format(
            *busy, median(shared.broker for shared in told), os.cpu_count()
        )
        rate = median(shared.rate for shared in told)
        yield Figure(f"two clusters, {workers} worker{'s' * (workers > 1)}", rate, "events/s", None, note=note)
    one, two = (median(shared.rate for shared in told) for told in found.values())
    yield Figure("two workers to one", two / one, "×", None)


def together(node: Node, server: ClickHouseServer, until: dict[str, int], workers: int, name: str) -> Shared:
    """Start so many, let them share the partitions, then let them go."""
    share = len(until) // workers
    task = Task(node.address, f"{server.address}/{name}", name, until, partitions=share)
    processes = [stage.started("bench.kafka.worker", json.dumps(asdict(task))) for _ in range(workers)]
    try:
        for process in processes:
            stage.line(process)
        before = stage.cpu_s(server.process.pid), stage.cpu_s(node.pid)
        for process in processes:
            stage.answer(process)
        said = [stage.line(process) for process in processes]
        after = stage.cpu_s(server.process.pid), stage.cpu_s(node.pid)
        for process in processes:
            process.wait(stage.LIMIT_S)
    finally:
        for process in processes:
            process.kill()
    wall_s = max(one["wall_s"] for one in said)
    store_s, broker_s = (b - a for a, b in zip(before, after, strict=True))
    return Shared(
        sum(one["events"] for one in said) / wall_s,
        sum(one["cpu_s"] for one in said) / wall_s,
        store_s / wall_s,
        broker_s / wall_s,
    )
