"""Enforcement beside the book of this process: what is due is written, and thereby read back, at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from enforcer.clusters import Enforcers
from ledger.units import epoch_s
from streams.runtime.embedded import Embedded
from streams.runtime.ticking import ticks

TICK_S: Final = 30
MOST_STEPS: Final = 20
"""From a plan to its orders it is two; more than this is a fault that must not keep a poll waiting."""


class Beside:
    """Lets time pass in the book, and enforces."""

    def __init__(self, runtime: Embedded, enforcers: Enforcers, clock: Callable[[], datetime]) -> None:
        """Over the one writer of the book."""
        self._runtime = runtime
        self._enforcers = enforcers
        self._clock = clock
        self._ticked_s = 0

    def look(self) -> None:
        """Do what is due. An order waits for the log alone: who starts again makes the rows from there."""
        at_s = epoch_s(self._clock()) // TICK_S * TICK_S
        if at_s > self._ticked_s:
            self._runtime.ingest([raw for _, raw in ticks(self._runtime.processor, at_s)], log_only=True)
            self._ticked_s = at_s
        for _ in range(MOST_STEPS):
            wanted = self._enforcers.look(self._runtime.processor)
            if not wanted:
                break
            self._runtime.ingest([raw for _, raw in wanted], log_only=True)
        self._runtime.save()
