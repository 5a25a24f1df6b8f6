"""The Kafka runtime comes to the embedded one's book, row by row and hash by hash, on a real broker."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger.checkpoint import Partition
from ledger.store.clickhouse import ClickHouse
from streams.kafka.admin import admin
from streams.kafka.fit import Span
from streams.kafka.log import log
from streams.kafka.producer import publisher
from streams.replay import Replay
from streams.runtime.embedded import Embedded
from streams.sources.files import mapping as mappings
from streams.topics import LOGS
from streams.verify import verify
from tenure.cli import importing
from tenure.demo import generate
from tests.contract.runtime.books import SUMS, contents
from tests.contract.runtime.feeds import NOW, clock, of_cluster, raw, told
from tests.oracle.logs import T0, seeded_log
from tests.support.chdb import fresh_store
from tests.support.kafka import Broker
from tests.support.worker import drain, own_broker

pytestmark = pytest.mark.timeout(600)

POLLED = 500
"""Records of one poll: a log that goes on by less is read to its end by chance."""
SAMPLES = "SELECT * FROM gpu_samples FINAL ORDER BY ALL"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker with the topics as they are by default."""
    with own_broker(tmp_path / "kafka") as broker:
        yield broker


def publish(broker: Broker, lines: Iterable[bytes], *, batch: int) -> None:
    with publisher(broker.address) as sender:
        sender.publish(lines, batch=batch)


def agrees(store: ClickHouse, lines: Sequence[bytes]) -> dict[str, list[str]]:
    """Every table equals that of an embedded run over the same lines; the contents."""
    with fresh_store() as other:
        Embedded(other, lambda: datetime.now(UTC)).ingest(lines)
        expected, sampled = contents(other, placed=False), other.query(SAMPLES).rows
    found = contents(store, placed=False)
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert store.query(SAMPLES).rows == sampled
    return found


def test_two_hundred_clusters_over_twelve_partitions(broker: Broker):
    logs = [[raw(e) for e in of_cluster(seeded_log(n, hours=8, nodes=2, jobs=4), f"c{n}")] for n in range(200)]
    lines = [line for row in itertools.zip_longest(*logs) for line in row if line is not None]
    publish(broker, lines, batch=40)
    with fresh_store() as store:
        drain(store, broker.address)
        found = agrees(store, lines)
        partitions = store.query("SELECT uniqExact(`partition`) FROM events").rows
    assert len(found["checkpoints"]) == 200
    assert partitions == [(12,)]


@pytest.mark.parametrize("batch", [1, 500])
def test_the_demo(broker: Broker, batch: int):
    lines = generate(7, 2).events
    publish(broker, lines, batch=batch)
    with fresh_store() as store:
        drain(store, broker.address)
        agrees(store, lines)
        assert verify(store).errors == []


def test_a_replay_from_kafka_reads_on_as_the_log_grows(broker: Broker):
    """Whoever compares with a book that workers go on with has to get as far as they."""
    lines = [raw(e) for e in of_cluster(seeded_log(1, hours=60, nodes=3, jobs=200), "c")]
    half = len(lines) // 2
    assert half > POLLED
    publish(broker, lines[:half], batch=1)
    with fresh_store() as store, admin(broker.address) as asked:

        def spans() -> dict[Partition, Span]:
            logs = {topic.name for topic in LOGS}
            return asked.spans({name: topic for name, topic in asked.found().items() if name in logs})

        with log(broker.address, spans) as growing:
            again = Replay(store, "again", growing)
            assert again.go_on() == half
            publish(broker, lines[half:], batch=1)
            assert again.go_on() == len(lines) - half
            again.checkpoint()
        drain(store, broker.address)
        assert list(store.compare_generations(store.live_generation(), "again")) == []
        live, made = (store.checkpoints(name) for name in (store.live_generation(), "again"))
        hashes = [
            {c.cluster: (c.log_hash, c.facts_hash) for of in found.values() for c in of.values() if c.cluster}
            for found in (live, made)
        ]
        assert hashes[0] == hashes[1]


def at(minutes: int) -> str:
    return (T0 + timedelta(minutes=minutes)).isoformat()


def sampled(node: str, minute: int, cluster: str = "c") -> bytes:
    """One node's two GPUs over a quarter of an hour."""
    gpus = [{"index": n, "utilization_pct": (minute + 37 * n) % 101, "power_w": 300 + n} for n in range(2)]
    data = {"cluster": cluster, "node": node, "since": at(minute), "until": at(minute + 15), "gpus": gpus}
    return told("gpu.sampled", f"{node}/{minute}", data, time=at(minute + 15), recordedtime=NOW.isoformat())


def test_samples_are_kept_once_and_summed_exactly_whenever_they_come(broker: Broker):
    """Early, late for hours that are closed, twice, in any order, and in records of many."""
    log = of_cluster(seeded_log(3, hours=8, nodes=3, jobs=8), "c")
    events = [raw(one) for one in log]
    samples = [sampled(f"n{node}", minute) for node in (1, 2, 3) for minute in range(0, 480, 15)]
    dice = random.Random(5)
    repeated = samples + dice.sample(samples, 30)
    dice.shuffle(repeated)
    half = len(repeated) // 2
    with fresh_store() as store, fresh_store() as other:
        publish(broker, [*repeated[:half], b'{"type":"tenure.gpu.sampled.v1"}'], batch=7)
        drain(store, broker.address)
        publish(broker, events, batch=20)
        drain(store, broker.address)
        publish(broker, repeated[half:], batch=3)
        drain(store, broker.address)
        runtime = Embedded(other, clock)
        runtime.ingest([*samples, *events])
        assert store.query(SAMPLES).rows == other.query(SAMPLES).rows
        sums = other.query(f"{SUMS} ORDER BY ALL").rows
        assert store.query(f"{SUMS} ORDER BY ALL").rows == sums
    assert sums


def stamped(lines: Iterable[bytes]) -> list[bytes]:
    """The same events, recorded at an instant that both runtimes are told."""
    return [b'{"recordedtime":"' + NOW.isoformat().encode() + b'",' + line[1:] for line in lines]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("pattern", "mapping"), [("traces/mit_supercloud_slurm.csv", "mit_supercloud"), ("slurm/sacct_xdmod_*.log", None)]
)
def test_recordings(broker: Broker, shared: Path, pattern: str, mapping: str | None):
    how: Any = mappings.shipped(mapping) if mapping else xdmod()
    files = [importing.read(path, None, how) for path in sorted((shared / "data").glob(pattern))]
    lines = stamped(importing.ordered(files, how, {}, datetime(2026, 4, 1, tzinfo=NOW.tzinfo)))
    assert len(lines) > 100
    publish(broker, lines, batch=500)
    with fresh_store() as store:
        drain(store, broker.address)
        agrees(store, lines)


def xdmod() -> Any:
    from streams.sources.config import SourceConfig

    return SourceConfig(cluster="xdmod", fields="xdmod")
