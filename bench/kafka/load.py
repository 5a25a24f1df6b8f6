"""What is in the topics: a cluster of 10,000 GPUs whose jobs of one GPU come and go, and every hour is closed.

Submit, start and end are a third each. Ticks are one an hour, as a backfill writes them, or one in 30 seconds, as a
worker does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice

from bench import cluster
from ledger.events import ClusterEvent
from ledger.units import HOUR_S
from streams.batches import join

RUNS_S = 900
JOBS_A_SECOND = cluster.NODES * 8 / RUNS_S
"""As many as keep every GPU taken: 11, and so 33 events a second; two and a half hours are 300,000 events."""
BATCH = 500
LIVE_TICK_S = 30

Key = tuple[str, bytes]
"""A record: its key, which is its cluster, and its value."""


def life(count: int, name: str = cluster.CLUSTER, tick_s: int = HOUR_S) -> list[bytes]:
    """The first `count` events of a cluster, as sources write them."""
    told, wanted = f'"cluster":"{cluster.CLUSTER}"'.encode(), f'"cluster":"{name}"'.encode()
    events = islice(_life(count, tick_s), count)
    return [event.model_dump_json(exclude_none=True).encode().replace(told, wanted) for event in events]


def records(raws: Sequence[bytes], name: str, batch: int) -> Iterator[Key]:
    """Records of so many events each."""
    for start in range(0, len(raws), batch):
        part = raws[start : start + batch]
        yield name, part[0] if batch == 1 else join(part)


def _life(jobs: int, tick_s: int) -> Iterator[ClusterEvent]:
    """In the order of their times, as a source that keeps up reports them."""
    yield from cluster.setup()
    first_s = tick_s if tick_s < HOUR_S else tick_s + 301  # an hour is closed five minutes after its end
    ticks = range(first_s, int(jobs / JOBS_A_SECOND) + RUNS_S, tick_s)
    yield from merge(
        (cluster.submitted(n, _at(n)) for n in range(jobs)),
        (cluster.started(n, _at(n, 5), n % cluster.NODES) for n in range(jobs)),
        (cluster.ended(n, _at(n, 5 + RUNS_S)) for n in range(jobs)),
        (cluster.tick(cluster.OPENS + timedelta(seconds=s)) for s in ticks),
        key=lambda event: event.time,
    )


def _at(job: int, after_s: int = 0) -> datetime:
    return cluster.OPENS + timedelta(seconds=1 + job / JOBS_A_SECOND + after_s)
