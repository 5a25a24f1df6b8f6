"""Everything a book holds, to be held against another book."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from ledger.rows import TABLES
from ledger.store import comparison
from ledger.store.protocol import Samples, Store, coded
from ledger.units import epoch_s
from tests.oracle.logs import T0

SUMS = """
SELECT * EXCEPT rolled_at REPLACE (
    round(sampled_gpu_ms, 2) AS sampled_gpu_ms,
    round(utilized_gpu_ms, 2) AS utilized_gpu_ms,
    round(idle_gpu_ms, 2) AS idle_gpu_ms
)
FROM run_gpu_hours FINAL
WHERE gone = 0
"""
"""Sums of fractions, whose last digits depend on the order of adding."""

LOGGED = ("events", "dead_letters")

ASKED = {
    **{table: f"SELECT * FROM {table} FINAL" for table in TABLES.values() if table != "open_hours"},
    **{table: f"SELECT * FROM {table} FINAL" for table in ("events", "dead_letters", "accounts", "share_requests")},
    "open_hours": comparison.LAST_OPEN_HOURS,
    "run_gpu_hours": SUMS,
    "checkpoints": "SELECT * EXCEPT (topic, `partition`, `offset`, `index`, facts) FROM partition_checkpoints FINAL",
    "position": "SELECT generation, topic, `partition`, `offset`, `index` FROM partition_checkpoints FINAL "
    "WHERE cluster = ''",
}
"""Of checkpoints, what does not depend on where they were taken; of provisional hours, the last."""

OF_NO_GENERATION = (*LOGGED, "accounts", "share_requests")

PLACELESS = {
    **{
        name: "SELECT * EXCEPT (topic, `partition`, `offset`, `index`) "
        f"REPLACE (if(cluster = '', toDateTime64(0, 6, 'UTC'), recorded_at) AS recorded_at) FROM {name} FINAL"
        for name in LOGGED
    },
    "checkpoints": f"{ASKED['checkpoints']} WHERE cluster != ''",
}
"""What does not depend on where and by whom a log is written: its records of no cluster are counted by partition, and
do not bring the time at which they were recorded."""


def contents(store: Store, *, placed: bool = True) -> dict[str, list[str]]:
    """Every table, each row as text; without places in the log unless `placed`."""
    asked = ASKED if placed else {**{name: sql for name, sql in ASKED.items() if name != "position"}, **PLACELESS}
    live = store.live_generation()
    return {name: [repr(row) for row in store.query(_of(live, name, sql)).rows] for name, sql in asked.items()}


def _of(generation: str, name: str, sql: str) -> str:
    if name in OF_NO_GENERATION:
        return f"{sql} ORDER BY ALL"
    return f"SELECT * EXCEPT generation FROM ({sql}) WHERE generation = '{generation}' ORDER BY ALL"


def samples(*, hours: int = 12) -> Samples:
    """Four nodes with two GPUs in each of the two clusters, every twenty minutes."""
    rows = [
        (cluster, f"n{node}", gpu, epoch_s(T0 + timedelta(minutes=20 * n)), (7 * n + 31 * gpu) % 101)
        for cluster in ("north", "south")
        for node in range(1, 5)
        for gpu in range(2)
        for n in range(3 * hours)
    ]
    clusters, nodes, gpus, at_s, busy = zip(*rows, strict=True)
    unknown = np.full(len(rows), np.nan, dtype=np.float32)
    return Samples(
        *coded(clusters),
        *coded(nodes),
        np.array(gpus, dtype=np.uint16),
        np.array(at_s, dtype=np.int64),
        np.full(len(rows), 1200, dtype=np.uint32),
        np.array(busy, dtype=np.float32),
        unknown,
        unknown,
        unknown,
        np.full(len(rows), -1, dtype=np.int32),
    )
