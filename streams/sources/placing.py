"""How the GPUs of a run lie on its nodes when the record gives only their sum."""

from __future__ import annotations

from functools import lru_cache

from ledger.events.jobs import Placement
from ledger.units import GPU_MILLI


@lru_cache(maxsize=4_096)
def spread(nodes: tuple[str, ...], gpus_milli: int) -> tuple[Placement, ...]:
    """Evenly, in whole GPUs where the sum is whole, the remainder on the first; nodes left with none are not named."""
    unit = GPU_MILLI if gpus_milli % GPU_MILLI == 0 else 1
    each, rest = divmod(gpus_milli // unit, len(nodes))
    parts = [(node, (each + rest if at == 0 else each) * unit) for at, node in enumerate(nodes)]
    return tuple(Placement(node=node, gpus_milli=milli) for node, milli in parts if milli)
