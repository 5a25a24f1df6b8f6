"""Samples on their way into the store, and the hours to sum them by.

There are millions of them a day, so they go as ClickHouse's Native format, straight from the arrays: names once with
the places of each, numbers as they lie in memory. https://clickhouse.com/docs/interfaces/formats/Native
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ledger.store.columns import LAST_INSTANT_S
from ledger.store.protocol import Samples
from ledger.units import DAY_S, HOUR_S

COLUMNS: Final = (
    "cluster",
    "node",
    "gpu",
    "at",
    "interval_s",
    "utilization_pct",
    "sm_active_pct",
    "memory_used_mib",
    "power_w",
    "xid",
)
"""The columns of `native`, in its order."""

STATEMENT_ROWS: Final = 4_000_000
"""Samples one statement sums, or an hour of them if that is more: a few hundred MB of memory."""
STATEMENT_S: Final = 7 * DAY_S
"""Time one statement sums, which bounds the runs it meets where samples are few."""

_LOW_CARDINALITY: Final = (1, 1 << 9 | 1 << 10 | 1)
"""Version of the serialization; a dictionary of its own, whole, with places of two bytes."""


def native(samples: Samples) -> bytes:
    """The samples as one block; what was not sampled is NULL, an instant out of range the nearest in it."""
    columns = (
        ("LowCardinality(String)", _names(samples.clusters, samples.cluster)),
        ("LowCardinality(String)", _names(samples.nodes, samples.node)),
        ("UInt16", _numbers(samples.gpu, "<u2")),
        ("DateTime('UTC')", _numbers(np.clip(samples.at_s, 0, LAST_INSTANT_S), "<u4")),
        ("UInt32", _numbers(samples.interval_s, "<u4")),
        ("Float32", _numbers(samples.utilization_pct, "<f4")),
        ("Nullable(Float32)", _optional(samples.sm_active_pct, np.isnan(samples.sm_active_pct), "<f4")),
        ("Nullable(Float32)", _optional(samples.memory_used_mib, np.isnan(samples.memory_used_mib), "<f4")),
        ("Nullable(Float32)", _optional(samples.power_w, np.isnan(samples.power_w), "<f4")),
        ("Nullable(Int32)", _optional(samples.xid, samples.xid < 0, "<i4")),
    )
    block = [_count(len(columns)), _count(len(samples.at_s))]
    for name, (kind, values) in zip(COLUMNS, columns, strict=True):
        block += _text(name), _text(kind), values
    return b"".join(block)


def _names(names: Sequence[str], places: NDArray[np.uint16]) -> bytes:
    return b"".join(
        (
            np.array((*_LOW_CARDINALITY, len(names)), "<u8").tobytes(),
            *map(_text, names),
            np.array(len(places), "<u8").tobytes(),
            _numbers(places, "<u2"),
        )
    )


def _optional(values: NDArray[np.generic], absent: NDArray[np.bool_], kind: str) -> bytes:
    return absent.tobytes() + _numbers(values, kind)


def _numbers(values: NDArray[np.generic], kind: str) -> bytes:
    return values.astype(kind, copy=False).tobytes()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _count(len(encoded)) + encoded


def _count(number: int) -> bytes:
    """LEB128: seven bits a byte, the lowest first."""
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _count(rest) if rest else bytes((low,))


def spans(from_s: int, until_s: int, rows: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """The whole hours [from_s, until_s), as many in a statement as their `rows` allow; none where no sample is."""
    begin_s, taken = from_s, 0
    for hour_s in range(from_s, until_s, HOUR_S) if rows else ():
        taken += rows.get(hour_s, 0)
        if begin_s < hour_s and (taken > STATEMENT_ROWS or hour_s - begin_s >= STATEMENT_S):
            yield begin_s, hour_s
            begin_s, taken = hour_s, rows.get(hour_s, 0)
    if rows and begin_s < until_s:
        yield begin_s, until_s
