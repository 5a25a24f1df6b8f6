"""A day of 10,000 GPUs sampled every minute: written, and summed by run, GPU and hour; CPU seconds of all threads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from bench import cluster
from bench.fold import apply
from bench.report import Figure
from ledger.book import Book
from ledger.events import ClusterEvent
from ledger.rows import Run
from ledger.store.clickhouse import ClickHouse, open_chdb
from ledger.store.protocol import Samples
from ledger.units import DAY_S, HOUR_S, epoch_s

GPUS = 8
INTERVAL_S = 60
OPENS_S = epoch_s(cluster.OPENS)
PLAIN = """
SELECT count(), sum(utilization)
FROM
(
    SELECT node, gpu, toStartOfHour(at) AS hour, count(), sum(utilization_pct) AS utilization
    FROM gpu_samples
    GROUP BY node, gpu, hour
)
"""
COPY = "INSERT INTO copied SELECT * FROM gpu_samples WHERE at < toDateTime({until_s:Int64}, 'UTC')"


def a_day(nodes: int = cluster.NODES) -> list[Figure]:
    """Written hour by hour, beside a copy inside ClickHouse; summed, beside a plain sum of one column."""
    chance = np.random.default_rng(7)
    with TemporaryDirectory() as folder:
        store = open_chdb(folder)
        store.migrate()
        for generation, named in (("named", True), ("unnamed", False)):
            store.write(generation, {Run: runs(nodes, chance, named=named)})
        rate = written(store, nodes, chance)
        copying = copied(store)
        begin = process_time()
        store.query(PLAIN)
        plain_s = process_time() - begin
        named_s, unnamed_s = (summed(store, generation) for generation in ("named", "unnamed"))
        store.close()
    of = "a plain sum by GPU and hour"
    return [
        Figure("samples written", rate, "samples/s", None, of=("a copy inside ClickHouse", rate / copying)),
        Figure(f"bound: {of}", plain_s, "s", None),
        Figure("a day summed, GPUs named", named_s, "s", 60, less=True, of=(of, named_s / plain_s)),
        Figure("a day summed, no GPU named", unnamed_s, "s", 60, less=True, of=(of, unnamed_s / plain_s)),
    ]


def runs(nodes: int, chance: np.random.Generator, *, named: bool) -> list[Run]:
    """Every GPU taken all day by runs of some four hours: of a whole node on every other node, else of one GPU."""
    book = Book(cluster.CLUSTER)
    apply(book, cluster.setup(nodes))
    apply(book, sorted(_events(nodes, chance, named=named), key=lambda event: event.recordedtime or event.time))
    return [row for row in book.take()[Run] if isinstance(row, Run)]


def _events(nodes: int, chance: np.random.Generator, *, named: bool) -> Iterator[ClusterEvent]:
    job = 0
    for node in range(nodes):
        for gpus in [tuple(range(GPUS))] if node % 2 else [(gpu,) for gpu in range(GPUS)]:
            since_s = 0
            while since_s < DAY_S:
                until_s = since_s + 300 + int(chance.exponential(4 * HOUR_S))
                since, until = (cluster.OPENS + timedelta(seconds=s) for s in (since_s, until_s))
                yield cluster.submitted(job, since, len(gpus))
                yield cluster.started(job, since, node, len(gpus), gpus if named else None)
                if until_s < DAY_S:
                    yield cluster.ended(job, until)
                job += 1
                since_s = until_s + 60


def written(store: ClickHouse, nodes: int, chance: np.random.Generator) -> float:
    """Samples per second, made beforehand."""
    count, taken_s = 0, 0.0
    for hour in range(24):
        samples = an_hour(nodes, OPENS_S + hour * HOUR_S, chance)
        begin = process_time()
        store.write_samples(samples)
        taken_s += process_time() - begin
        count += len(samples.at_s)
    return count / taken_s


def an_hour(nodes: int, hour_s: int, chance: np.random.Generator) -> Samples:
    """A sample a minute of every GPU."""
    minutes = HOUR_S // INTERVAL_S
    size = nodes * GPUS * minutes

    def between(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.rint(chance.uniform(low, high, size)).astype(np.float32)

    return Samples(
        clusters=(cluster.CLUSTER,),
        cluster=np.zeros(size, np.uint16),
        nodes=tuple(f"n{n:04}" for n in range(nodes)),
        node=np.repeat(np.arange(nodes, dtype=np.uint16), GPUS * minutes),
        gpu=np.tile(np.repeat(np.arange(GPUS, dtype=np.uint16), minutes), nodes),
        at_s=np.tile(hour_s + INTERVAL_S * np.arange(minutes, dtype=np.int64), nodes * GPUS),
        interval_s=np.full(size, INTERVAL_S, np.uint32),
        utilization_pct=between(0, 100),
        sm_active_pct=between(0, 80),
        memory_used_mib=between(10_000, 80_000),
        power_w=between(80, 700),
        xid=np.full(size, -1, np.int32),
    )


def copied(store: ClickHouse, hours: int = 4) -> float:
    """Samples per second from one table to another of the same kind: sorted, packed and written, never parsed."""
    store._command("CREATE TABLE copied AS gpu_samples")  # noqa: SLF001
    begin = process_time()
    store._command(COPY.replace("{until_s:Int64}", str(OPENS_S + hours * HOUR_S)))  # noqa: SLF001
    taken_s = process_time() - begin
    ((count,),) = store.query("SELECT count() FROM copied").rows
    assert isinstance(count, int)
    return count / taken_s


def summed(store: ClickHouse, generation: str) -> float:
    """Seconds for the whole day."""
    begin = process_time()
    store.roll_up_samples(generation, cluster.CLUSTER, OPENS_S, OPENS_S + DAY_S, OPENS_S + DAY_S)
    taken_s = process_time() - begin
    ((sums,),) = store.query(f"SELECT count() FROM run_gpu_hours FINAL WHERE generation = '{generation}'").rows
    assert isinstance(sums, int)
    assert sums > 0
    return taken_s
