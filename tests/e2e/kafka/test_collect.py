"""A live Slurm into Kafka: told once, kept while Kafka is away, folded by a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.kafka.node import fetch
from deploy.processes import Missing
from tests.e2e.cli.driver import one
from tests.e2e.cli.test_collect import FakeSlurm
from tests.support.kafka import Broker
from tests.support.worker import ends, make_topics

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    try:
        fetch()
    except Missing as missing:
        pytest.skip(str(missing))
    with Broker(tmp_path / "kafka").running() as broker:
        yield broker


def test_events_go_to_kafka_and_wait_while_it_is_away(broker: Broker, tmp_path: Path) -> None:
    slurm = FakeSlurm(tmp_path)
    slurm.config.write_text(f'{slurm.config.read_text()}[kafka]\naddress = "{broker.address}"\n')
    bare = slurm.once("--to", "kafka")
    assert bare.code == 6
    assert "tenure topics create" in bare.err
    make_topics(broker.address, partitions=1)
    first = slurm.once("--to", "kafka")
    assert first.code == 0, first.err
    assert first.json["events"] == {"job.submitted": 1, "job.started": 1, "node.observed": 1}
    told = sum(ends(broker.address).values())
    assert told == 1, "one record with three events"
    assert slurm.once("--to", "kafka").json["events"] == {}
    assert sum(ends(broker.address).values()) == told
    assert not (slurm.data / "book").exists(), "workers have the book"
    broker.kill()
    assert one(slurm.data, "collect", "slurm", "--config", str(slurm.config), "--once", "--to", "kafka").code == 6
    broker.start()
    slurm.runs(job_state="COMPLETED", end_time=slurm.begin_s + 15)
    assert slurm.once("--to", "kafka").json["events"] == {"job.ended": 1}
    assert sum(ends(broker.address).values()) == told + 1
