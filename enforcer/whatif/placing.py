"""Where work fits: on the nodes where least is left over, and, for the first that does not, when it will. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from enforcer.whatif.work import ENDLESS_S, Running, Work


class Booking(NamedTuple):
    """Room kept for the first in line: milli-GPUs by node, from an instant on. Who is gone by then may use it."""

    from_s: int
    rooms: Mapping[str, int]


def places(work: Work, room: Mapping[str, int]) -> dict[str, int] | None:
    """Milli-GPUs by node for all of its pieces, or None; `room` is what each node has for it, in a fixed order."""
    found: dict[str, int] = {}
    left = work.pieces
    for node, milli in sorted(room.items(), key=lambda one: one[1]):
        fits = milli // work.piece_milli
        taken = min(fits, 1 if work.apart else left, left)
        if taken > 0:
            found[node] = taken * work.piece_milli
            left -= taken
            if not left:
                return found
    return None


def booking(work: Work, room: Mapping[str, int], running: Iterable[Running], now_s: int) -> Booking | None:
    """The earliest instant at which it fits if every run ends when planned, and where; None if that is never."""
    ends: dict[str, list[tuple[int, int]]] = {node: [(now_s, milli)] for node, milli in room.items()}
    for run in running:
        for node, milli in run.places.items():
            if node in ends:
                ends[node].append((max(now_s, run.planned_end_s()), milli))
    when: list[tuple[int, str]] = []
    for node, freed in ends.items():
        has, pieces = 0, 0
        for at_s, milli in sorted(freed):
            has += milli
            while has >= (pieces + 1) * work.piece_milli and not (work.apart and pieces):
                pieces += 1
                when.append((at_s, node))
    when.sort()
    if len(when) < work.pieces or when[work.pieces - 1][0] >= ENDLESS_S:
        return None
    rooms: dict[str, int] = {}
    for _, node in when[: work.pieces]:
        rooms[node] = rooms.get(node, 0) + work.piece_milli
    return Booking(when[work.pieces - 1][0], rooms)
