"""Which clusters the owner of a partition ticks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger.checkpoint import Partition
from ledger.units import DAY_S, epoch_s, epoch_us
from streams.intake import read, record
from streams.processor import Processor
from streams.runtime.ticking import ticks
from tests.contract.runtime.feeds import told

LOG = Partition("tenure.events", 0)
T0 = "2026-03-02T00:00:00Z"
T0_S = epoch_s(read(told("clock.ticked", "t", {"cluster": "c", "at": T0}, time=T0)).time)  # type: ignore[union-attr]


def node(at: str, cluster: str = "c") -> bytes:
    data: dict[str, Any] = {"cluster": cluster, "node": "n1", "gpu_type": "a100", "gpus_milli": 8000}
    return told("node.observed", f"{cluster}/{at}", data | {"state": "available"}, time=at)


def tick(at: str) -> bytes:
    return told("clock.ticked", f"c/{at}", {"cluster": "c", "at": at}, time=at)


def due(*lines: bytes, after_s: int) -> list[str]:
    processor = Processor()
    now_us = (T0_S + 400 * DAY_S) * 1_000_000
    processor.fold([record(line, LOG, n, now_us) for n, line in enumerate(lines)])
    return [cluster for cluster, _ in ticks(processor, T0_S + after_s)]


@pytest.mark.parametrize(
    ("lines", "after_s", "expected"),
    [
        ([node(T0)], 30, ["c"]),
        ([node(T0), node(T0, "d")], 30, ["c", "d"]),
        ([node(T0)], 34 * DAY_S, ["c"]),
        ([node(T0)], 36 * DAY_S, []),
        ([node(T0), tick("2026-03-20T00:00:00Z")], 36 * DAY_S, ["c"]),
        ([node(T0), tick("2026-03-20T00:00:00Z")], 18 * DAY_S, []),
        ([node("2001-01-01T00:00:00Z"), node(T0)], 30, ["c"]),
        ([b"?"], 30, []),
    ],
)
def test_a_cluster_is_ticked_while_it_lives(lines: list[bytes], after_s: int, expected: list[str]):
    """Not before its last tick, and not when it was left behind longer than the horizon."""
    assert due(*lines, after_s=after_s) == expected


def test_a_tick_says_when_and_has_the_id_everybody_gives_it():
    processor = Processor()
    processor.fold([record(node(T0), LOG, 0, epoch_us(read(node(T0)).time))])  # type: ignore[union-attr]
    ((cluster, raw),) = ticks(processor, T0_S + 60)
    event: Any = read(raw)
    assert (cluster, event.id) == ("c", "c/2026-03-02T00:01:00Z")
    assert event.data.at == event.time == read(node(T0)).time + timedelta(seconds=60)  # type: ignore[union-attr]
