"""Samples of GPUs on their way into the store, and the hours whose sums they and the book make due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ledger.events import GpuSampled
from ledger.rows import Posting
from ledger.store.protocol import Samples, Store, coded
from ledger.units import DAY_S, HOUR_S, epoch_s

SUMMED_AGAIN_S: Final = 2 * DAY_S
"""After a restart, the closed hours whose samples are summed again, as the last sums may be lost."""


class Sums:
    """Hours whose samples are to be summed by run, by cluster: those that got samples, or other runs."""

    def __init__(self) -> None:
        """Nothing is due."""
        self._hours: dict[str, dict[int, None]] = {}

    def sampled(self, samples: Samples) -> None:
        """Hours that these samples speak for are due once they are closed."""
        for place, cluster in enumerate(samples.clusters):
            mine = samples.cluster == place
            self.due(cluster, hours_of(samples.at_s[mine], samples.interval_s[mine]))

    def posted(self, postings: Iterable[Posting]) -> None:
        """Hours with new postings have other runs."""
        for posting in postings:
            self._hours.setdefault(posting.cluster, {})[posting.hour_s] = None

    def resumed(self, cluster: str, closed_until_s: int) -> None:
        """The sums of the last closed hours may be lost."""
        self.due(cluster, range(max(0, closed_until_s - SUMMED_AGAIN_S), closed_until_s, HOUR_S))

    def make(self, store: Store, generation: str, cluster: str, closed_until_s: int, rolled_s: int) -> list[int]:
        """Sum what is due of a cluster and closed; returns those hours."""
        hours = self._hours.get(cluster, {})
        due = sorted(hour_s for hour_s in hours if hour_s < closed_until_s)
        for from_s, until_s in _spans(due):
            store.roll_up_samples(generation, cluster, from_s, until_s, rolled_s)
        for hour_s in due:
            del hours[hour_s]
        return due

    def due(self, cluster: str, hours: Iterable[int]) -> None:
        """These hours are to be summed, once they are closed."""
        self._hours.setdefault(cluster, {}).update(dict.fromkeys(hours))


def _spans(hours: list[int]) -> Iterator[tuple[int, int]]:
    """Sorted hours as [from, until) of hours that follow one another."""
    begin = until = None
    for hour_s in hours:
        if hour_s != until:
            if begin is not None and until is not None:
                yield begin, until
            begin = hour_s
        until = hour_s + HOUR_S
    if begin is not None and until is not None:
        yield begin, until


def hours_of(at_s: NDArray[np.int64], interval_s: NDArray[np.uint32]) -> set[int]:
    """The hours that samples speak for, of each a day at most."""
    first = at_s // HOUR_S
    last = np.minimum(at_s + interval_s - 1, at_s + DAY_S) // HOUR_S
    longest = int((last - first).max(initial=0))
    return {hour * HOUR_S for n in range(longest + 1) for hour in np.unique(np.minimum(first + n, last)).tolist()}


def columns_of(events: Iterable[GpuSampled]) -> Samples:
    """The samples of events as columns."""
    rows = [
        (
            e.data.cluster,
            e.data.node,
            g.index,
            epoch_s(e.data.since),
            epoch_s(e.data.until) - epoch_s(e.data.since),
            g.utilization_pct,
            *(np.nan if v is None else v for v in (g.sm_active_pct, g.memory_used_mib, g.power_w)),
            -1 if g.xid is None else g.xid,
        )
        for e in events
        for g in e.data.gpus
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 10
    return Samples(
        *coded(columns[0]),
        *coded(columns[1]),
        np.array(columns[2], dtype=np.uint16),
        np.array(columns[3], dtype=np.int64),
        np.array(columns[4], dtype=np.uint32),
        np.array(columns[5], dtype=np.float32),
        np.array(columns[6], dtype=np.float32),
        np.array(columns[7], dtype=np.float32),
        np.array(columns[8], dtype=np.float32),
        np.array(columns[9], dtype=np.int32),
    )
