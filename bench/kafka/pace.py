"""A source that reports 2,000 events a second, evenly, each at the instant it happens; jobs of ten seconds.

    python -m bench.kafka.pace ADDRESS EVENTS_A_SECOND SECONDS EVENTS_A_RECORD

Says when each job's start was due: what comes later, in this process too, counts as latency.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from bench import cluster
from streams.batches import join
from streams.kafka.producer import publisher
from streams.topics import EVENTS

RUNS_S = 10


def events(rate: int, seconds: int) -> Iterator[tuple[float, str, bytes]]:
    """(when it is due, the job if it starts, its bytes), made as they come due."""
    begun_s = time.time() + 0.5
    back = RUNS_S * rate // 3
    for number in range(rate * seconds):
        due_s = begun_s + number / rate
        at, (job, kind) = datetime.fromtimestamp(due_s, UTC), divmod(number, 3)
        match kind:
            case 0:
                event = cluster.submitted(job, at)
            case 1:
                event = cluster.started(job, at, job % cluster.NODES)
            case _:
                event = cluster.ended(max(0, job - back), at)
        yield due_s, f"j{job}" if kind == 1 else "", event.model_dump_json(exclude_none=True).encode()


def records(rate: int, seconds: int, batch: int, due: dict[str, float]) -> Iterator[tuple[str, bytes]]:
    """A record is sent when its last event is due; the first has waited for it then."""
    waiting: list[bytes] = []
    for due_s, job, raw in events(rate, seconds):
        if job:
            due[job] = due_s
        waiting.append(raw)
        if len(waiting) == batch:
            time.sleep(max(0.0, due_s - time.time()))
            yield cluster.CLUSTER, join(waiting) if batch > 1 else raw
            waiting.clear()


def main(address: str, rate: int, seconds: int, batch: int) -> None:
    due: dict[str, float] = {}
    with publisher(address) as sender:
        sender.put_all(EVENTS.name, records(rate, seconds, batch, due))
    print(json.dumps(due))


main(sys.argv[1], *map(int, sys.argv[2:5]))
