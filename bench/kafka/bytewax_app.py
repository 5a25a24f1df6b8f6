"""Bytewax calling our fold: with each job's record in its recovered state, or as a plain map that keeps nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import bytewax.operators as op
from bytewax._bytewax import cli_main
from bytewax.connectors.kafka import KafkaSource
from bytewax.dataflow import Dataflow, Stream
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir

from bench.kafka.fold import Fold, Said
from bench.kafka.watch import Watch
from streams.topics import EVENTS

EPOCH = timedelta(seconds=10)
"""Bytewax's own default: what is new in its state is written that often."""


class Nowhere(DynamicSink, StatelessSinkPartition):
    """Counts."""

    def build(self, *_: object) -> Nowhere:
        return self

    def write_batch(self, items: list[object]) -> None:
        pass


def flow_of(address: str, fold: Fold, watch: Watch, *, keeps: bool) -> Dataflow:
    """Read what the topic has, to its end."""
    flow = Dataflow("fold")
    source = KafkaSource([address], [EVENTS.name], tail=False)
    records: Stream = op.input("records", flow, source)

    def folding(record: object) -> Iterable[Said]:
        watch.begin()
        return fold.record(record.value)  # type: ignore[attr-defined]

    def counted(record: object) -> int:
        watch.begin()
        return sum(1 for _ in fold.record(record.value))  # type: ignore[attr-defined]

    if keeps:
        told = op.flat_map("fold", records, folding)
        kept = op.stateful_map("jobs", told, lambda _, said: (said, None))
    else:
        kept = op.map("fold", records, counted)
    op.output("nowhere", kept, Nowhere())
    return flow


def run(what: str, address: str, store: str) -> None:
    """To the end of the topic; with state, until its last epoch is written."""
    fold, watch = Fold(store), Watch()
    if what == "map":
        cli_main(flow_of(address, fold, watch, keeps=False))
    else:
        with TemporaryDirectory() as folder:
            init_db_dir(Path(folder), 1)
            flow = flow_of(address, fold, watch, keeps=True)
            cli_main(flow, epoch_interval=EPOCH, recovery_config=RecoveryConfig(folder))
    fold.take()
    watch.tell(fold.events, rows=fold.rows)


run(*sys.argv[1:4])
