"""Bytes to committed rows: the whole way through the embedded runtime, in a folder of its own; wall seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from time import perf_counter

from bench import cluster
from bench.report import Figure
from ledger.events import EVENT
from ledger.store.clickhouse import open_chdb
from streams.runtime.collector import calm
from streams.runtime.embedded import Embedded
from tenure.demo import generate


def committed() -> list[Figure]:
    """Ten days of the demo, and plain churn that touches no closed hour; each beside decoding alone."""
    at = cluster.OPENS + timedelta(minutes=6)
    churn = [*cluster.setup(), *cluster.churn(40_000, at)]
    logs = {
        "the demo's events": list(generate(7, 10).events),
        "churn": [e.model_dump_json().encode() for e in churn],
    }
    figures = []
    with TemporaryDirectory() as folder:
        for place, (name, raws) in enumerate(logs.items()):
            begin = perf_counter()
            for raw in raws:
                EVENT.validate_json(raw)
            bound = len(raws) / (perf_counter() - begin)
            store = open_chdb(folder, database=f"bench{place}")
            store.migrate()
            runtime = Embedded(store, lambda: datetime.now(UTC))
            calm()
            begin = perf_counter()
            runtime.ingest(raws)
            rate = len(raws) / (perf_counter() - begin)
            figures.append(
                Figure(
                    f"ingest to committed rows: {name}", rate, "events/s", 60_000, of=("decoding alone", rate / bound)
                )
            )
            runtime.close()
    return figures
