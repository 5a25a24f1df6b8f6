"""Where work fits: on the nodes where least is left over, and, for the first that does not, when it will. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from enforcer.whatif.work import ENDLESS_S, Running, Work

if TYPE_CHECKING:
    from enforcer.whatif.cluster import Cluster


class Booking(NamedTuple):
    """Room kept for the first in line: milli-GPUs by node, from an instant on. Who is gone by then may use it."""

    from_s: int
    rooms: Mapping[str, int]


class Room:
    """What is free at one look, as it is given out. By GPU type; '' is all of them."""

    def __init__(self, cluster: Cluster) -> None:
        """What nobody holds and no plan keeps; of a plan's room, its asker may have it."""
        self._cluster = cluster
        self._kept = {asker: rooms for asker, rooms in cluster.reserved.values() if asker not in cluster.running}
        self._free = {
            node: cluster.sizes[node] - cluster.held[node] - sum(kept.get(node, 0) for kept in self._kept.values())
            for node, state in cluster.states.items()
            if state == "available"
        }
        self._booked: dict[str, Booking | None] = {}
        self._failed: set[tuple[int, int, bool, str, bool]] = set()

    def places(self, work: Work, planned_s: int) -> dict[str, int] | None:
        """Where it fits now, milli-GPUs by node; None if nowhere, or in the way of the first in line."""
        own = self._kept.get(work.name)
        booked = self._booked.get(work.gpu_type)
        stays = booked is not None and self._cluster.now_s + planned_s > booked.from_s
        shape = (work.pieces, work.piece_milli, work.apart, work.gpu_type, stays)
        if own is None and shape in self._failed:
            return None
        room = self._of(work.gpu_type)
        if own is not None:
            room = {node: milli + own.get(node, 0) for node, milli in room.items()}
        elif booked is not None and stays:
            room = {node: milli - booked.rooms.get(node, 0) for node, milli in room.items()}
        found = places(work, room)
        if found is None and own is None:
            self._failed.add(shape)
        return found

    def book(self, work: Work) -> None:
        """It is the first that does not fit: room is kept for it."""
        if work.gpu_type not in self._booked:
            running = self._cluster.running.values()
            self._booked[work.gpu_type] = booking(work, self._of(work.gpu_type), running, self._cluster.now_s)

    def take(self, work: Work, found: Mapping[str, int]) -> None:
        """It starts there."""
        own = self._kept.pop(work.name, {})
        for node, milli in found.items():
            self._free[node] -= milli
        for node, milli in own.items():
            if node in self._free:
                self._free[node] += milli

    def _of(self, gpu_type: str) -> dict[str, int]:
        types = self._cluster.types
        return {node: milli for node, milli in self._free.items() if gpu_type in {"", types[node]}}


def places(work: Work, room: Mapping[str, int]) -> dict[str, int] | None:
    """Milli-GPUs by node for all of its pieces, or None; `room` is what each node has for it, in a fixed order."""
    found: dict[str, int] = {}
    left, piece = work.pieces, work.piece_milli
    for milli, _, node in sorted(
        (milli, place, node) for place, (node, milli) in enumerate(room.items()) if milli >= piece
    ):
        taken = 1 if work.apart else min(milli // piece, left)
        found[node] = taken * piece
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
