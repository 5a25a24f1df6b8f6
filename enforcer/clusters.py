"""The enforcers of the clusters in one processor, and what they want written; both runtimes ask them the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from enforcer.orders import Actuator
from enforcer.service import Enforcer
from ledger.units import instant
from streams.backfill import tick
from streams.processor import Processor
from streams.runtime.ticking import lives


class Wanted(NamedTuple):
    """Events to be written, by cluster, and when to ask again if nothing comes before (None: not by time alone)."""

    events: list[tuple[str, bytes]]
    next_s: int | None


class Enforcers:
    """One enforcer per cluster, made when the cluster is first seen alive."""

    def __init__(self, actuator: Callable[[str], Actuator]) -> None:
        """`actuator` is how a cluster's scheduler is told."""
        self._actuator: Final = actuator
        self._enforcers: Final[dict[str, Enforcer]] = {}

    def look(self, processor: Processor, now_s: int) -> Wanted:
        """What is due in every living cluster; blocks while a scheduler answers."""
        events: list[tuple[str, bytes]] = []
        times: list[int] = []
        for cluster, ledger in processor.ledgers.items():
            state = ledger.book.state
            if not cluster or not lives(state, max(now_s, state.ticked_s + 1)):
                continue
            if cluster not in self._enforcers:
                self._enforcers[cluster] = Enforcer(self._actuator(cluster))
            look = self._enforcers[cluster].look(state, now_s)
            wanted = [tick(cluster, instant(now_s))] if look.tick else look.acts
            events += [(cluster, one.model_dump_json(exclude_none=True).encode()) for one in wanted]
            times += [look.next_s] if look.next_s is not None else []
        return Wanted(events, min(times, default=None))
