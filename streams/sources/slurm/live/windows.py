"""From reservations for maintenance to the windows that were not told yet. Pure: one pass over one poll."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ledger.events import MaintenancePlanned
from ledger.events.decisions import MaintenancePlannedData
from ledger.units import instant
from streams.sources.config import SourceConfig
from streams.sources.identity import event_id
from streams.sources.slurm.reservations import Reserved

PREFIX: Final = "slurm/"
"""Before a reservation's name, lest it be taken for a window that a person named so."""
AUTHOR: Final = "slurm"


def changes(
    known: Mapping[str, Reserved], now: Mapping[str, Reserved], config: SourceConfig, at_s: int
) -> tuple[dict[str, Reserved], list[MaintenancePlanned]]:
    """The windows as they are told then, and what is new, dated by the list. What left it before its end is cancelled;
    what is over is not told, nor is that it is over.
    """
    told = {name: one for name, one in now.items() if one.until_s > at_s}
    new = [_planned(name, one, config, at_s) for name, one in sorted(told.items()) if known.get(name) != one]
    gone = [
        _planned(name, one, config, at_s, cancelled=True)
        for name, one in sorted(known.items())
        if name not in now and one.until_s > at_s
    ]
    return told, [*new, *gone]


def _planned(
    name: str, one: Reserved, config: SourceConfig, at_s: int, *, cancelled: bool = False
) -> MaintenancePlanned:
    time, window = instant(at_s), f"{PREFIX}{name}"
    data = MaintenancePlannedData(
        cluster=config.cluster,
        window=window,
        nodes=one.nodes,
        since=instant(one.since_s),
        until=instant(one.until_s),
        cancelled=cancelled,
        author=AUTHOR,
        reason=f"reservation {name}",
    )
    return MaintenancePlanned(
        id=event_id("maintenance", window, time, data), source=config.source_name, time=time, data=data
    )
