"""Samples on their way into the store, and the hours to sum them by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ledger.store.protocol import Samples, Value
from ledger.units import DAY_S, hour_ceil_s, hour_floor_s

SPAN_S = DAY_S
"""Hours summed by one statement: a day of a thousand GPUs is 1.4 million samples, well within memory."""


def columns(samples: Samples) -> dict[str, Sequence[object]]:
    """The arrays under their columns' names, what was not sampled as None."""
    return {
        "cluster": _listed(samples.cluster),
        "node": _listed(samples.node),
        "gpu": _listed(samples.gpu),
        "at": _listed(samples.at_s),
        "interval_s": _listed(samples.interval_s),
        "utilization_pct": _listed(samples.utilization_pct),
        "sm_active_pct": _optional(samples.sm_active_pct, np.isnan(samples.sm_active_pct)),
        "memory_used_mib": _optional(samples.memory_used_mib, np.isnan(samples.memory_used_mib)),
        "power_w": _optional(samples.power_w, np.isnan(samples.power_w)),
        "xid": _optional(samples.xid, samples.xid < 0),
    }


def hours(generation: str, cluster: str, from_s: int, until_s: int, rolled_s: int) -> Iterator[dict[str, Value]]:
    """Parameters of the summing statement, a span of whole hours at a time."""
    end_s = hour_floor_s(until_s)
    for start_s in range(hour_ceil_s(from_s), end_s, SPAN_S):
        yield {
            "generation": generation,
            "cluster": cluster,
            "from_s": start_s,
            "until_s": min(start_s + SPAN_S, end_s),
            "rolled_s": rolled_s,
        }


def _listed(values: NDArray[np.generic]) -> list[object]:
    return cast("list[object]", values.tolist())


def _optional(values: NDArray[np.generic], absent: NDArray[np.bool_]) -> list[object]:
    kept = values.astype(object)
    kept[absent] = None
    return _listed(kept)
