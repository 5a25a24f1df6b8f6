"""The enforcers of the clusters in one processor, and what they want written; both runtimes ask them the same way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from enforcer.actuators.slurm_queue import Publishing
from enforcer.orders import Actuator
from enforcer.service import Enforcer
from ledger.events import Act, PlanCommitted
from ledger.units import epoch_ms, instant, instant_ms
from streams.backfill import tick
from streams.processor import Processor
from streams.runtime.ticking import lives


class Enforcers:
    """One enforcer per cluster, made when the cluster is first seen alive."""

    def __init__(
        self,
        actuator: Callable[[str], Actuator],
        clock: Callable[[], datetime],
        publishing: Callable[[str], Publishing | None] = lambda _: None,
    ) -> None:
        """`actuator` is how a cluster's scheduler is told, `publishing` how it is given our order, if it is.

        The clock is the enforcer's own.
        """
        self._actuator: Final = actuator
        self._clock: Final = clock
        self._publishing: Final = publishing
        self._enforcers: Final[dict[str, Enforcer]] = {}
        self._publishers: Final[dict[str, Publishing | None]] = {}

    def look(self, processor: Processor) -> list[tuple[str, bytes]]:
        """Events to be written now, each with its cluster; blocks while a scheduler answers."""
        events: list[tuple[str, bytes]] = []
        for cluster, ledger in processor.ledgers.items():
            state, now_ms = ledger.book.state, epoch_ms(self._clock())
            if not cluster or not lives(state, max(now_ms // 1000, state.ticked_s + 1)):
                continue
            if cluster not in self._enforcers:
                self._enforcers[cluster] = Enforcer(self._actuator(cluster))
                self._publishers[cluster] = self._publishing(cluster)
            look = self._enforcers[cluster].look(state, now_ms)
            publisher = self._publishers[cluster]
            if publisher is not None and not look.acts:
                publisher.look(state, now_ms // 1000)
            wanted = [tick(cluster, instant(now_ms // 1000))] if look.tick else self._decided(look.acts)
            events += [(cluster, one.model_dump_json(exclude_none=True).encode()) for one in wanted]
        return events

    def _decided(self, acts: list[Act]) -> list[Act]:
        """Plans are of the instant at which they are made, however long that took."""
        now = instant_ms(epoch_ms(self._clock()))
        return [act.model_copy(update={"time": now}) if isinstance(act, PlanCommitted) else act for act in acts]
