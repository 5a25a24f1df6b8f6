"""The enforcers of the clusters in one processor, and what they want written; both runtimes ask them the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from enforcer.actuators.slurm_queue import Publishing
from enforcer.orders import Actuator
from enforcer.service import Enforcer
from ledger.units import instant
from streams.backfill import tick
from streams.processor import Processor
from streams.runtime.ticking import lives


class Enforcers:
    """One enforcer per cluster, made when the cluster is first seen alive."""

    def __init__(
        self, actuator: Callable[[str], Actuator], publishing: Callable[[str], Publishing | None] = lambda _: None
    ) -> None:
        """`actuator` is how a cluster's scheduler is told, `publishing` how it is given our order, if it is."""
        self._actuator: Final = actuator
        self._publishing: Final = publishing
        self._enforcers: Final[dict[str, Enforcer]] = {}
        self._publishers: Final[dict[str, Publishing | None]] = {}

    def look(self, processor: Processor, now_s: int) -> list[tuple[str, bytes]]:
        """Events to be written now, each with its cluster; blocks while a scheduler answers."""
        events: list[tuple[str, bytes]] = []
        for cluster, ledger in processor.ledgers.items():
            state = ledger.book.state
            if not cluster or not lives(state, max(now_s, state.ticked_s + 1)):
                continue
            if cluster not in self._enforcers:
                self._enforcers[cluster] = Enforcer(self._actuator(cluster))
                self._publishers[cluster] = self._publishing(cluster)
            look = self._enforcers[cluster].look(state, now_s)
            publisher = self._publishers[cluster]
            if publisher is not None and not look.acts:
                publisher.look(state, now_s)
            wanted = [tick(cluster, instant(now_s))] if look.tick else look.acts
            events += [(cluster, one.model_dump_json(exclude_none=True).encode()) for one in wanted]
        return events
