"""The optimisation as values, and the exact check every answer must pass. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from enforcer.classes import Class
from enforcer.snapshot import Asker, Node, Unit, by_node
from ledger.units import GPU_MILLI, HOUR_S

GPU_HOUR_MS: Final = GPU_MILLI * HOUR_S
"""Milli-GPUs times seconds are GPU-milliseconds."""


class Choice(NamedTuple):
    """A unit that may yield, with its class. Choices are given in rank order: the first is the first to go."""

    unit: Unit
    class_: Class

    @property
    def cost(self) -> int:
        """One for the unit, one for every whole GPU-hour that would be lost."""
        return 1 + self.unit.lost_gpu_ms // GPU_HOUR_MS


class Cap(NamedTuple):
    """At most so many milli-GPUs may be taken from these units together: somebody's floor."""

    account: str
    units: frozenset[str]
    most_milli: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Free enough for the asker. `most_lost_gpu_ms` bounds what funded units may lose together."""

    asker: Asker
    nodes: tuple[Node, ...]
    choices: tuple[Choice, ...]
    caps: tuple[Cap, ...]
    most_lost_gpu_ms: int

    def pieces_on(self, node: Node, freed_milli: int) -> int:
        """How many of the asker's pieces the node holds once so much more is free."""
        return self.asker.pieces_in(node.spare_milli + freed_milli) if node.usable else 0

    def freed(self, chosen: Collection[str]) -> dict[str, int]:
        """Milli-GPUs by node that these units give free."""
        return by_node(choice.unit for choice in self.choices if choice.unit.name in chosen)

    def fits(self, chosen: Collection[str]) -> bool:
        """Whether the asker has room once these units are gone."""
        freed = self.freed(chosen)
        return sum(self.pieces_on(node, freed.get(node.name, 0)) for node in self.nodes) >= self.asker.pieces

    def allows(self, chosen: Collection[str]) -> bool:
        """Whether floors hold, and funded losses are in proportion."""
        held = {c.unit.name: c.unit.gpus_milli for c in self.choices if c.unit.name in chosen}
        if any(sum(held[name] for name in cap.units & held.keys()) > cap.most_milli for cap in self.caps):
            return False
        return self.lost_gpu_ms(chosen) <= self.most_lost_gpu_ms

    def lost_gpu_ms(self, chosen: Collection[str]) -> int:
        """What the funded of these units lose."""
        return sum(c.unit.lost_gpu_ms for c in self.choices if c.unit.name in chosen and c.class_ > Class.UNFUNDED)

    def objective(self, chosen: Collection[str]) -> tuple[int, int, int, int, int]:
        """(units of class 2, of class 1, cost, milli-GPUs freed, sum of rank places): the least is best."""
        picked = [(place, c) for place, c in enumerate(self.choices) if c.unit.name in chosen]
        return (
            sum(c.class_ == Class.WITHIN for _, c in picked),
            sum(c.class_ == Class.OVER for _, c in picked),
            sum(c.cost for _, c in picked),
            sum(c.unit.gpus_milli for _, c in picked),
            sum(place for place, _ in picked),
        )

    def hosts(self, chosen: Collection[str]) -> tuple[tuple[str, int], ...]:
        """(node, pieces) for the asker: where least is left over, and then by name."""
        freed, left = self.freed(chosen), self.asker.pieces
        room = [(self.pieces_on(n, freed.get(n.name, 0)), n.spare_milli + freed.get(n.name, 0), n) for n in self.nodes]
        found: list[tuple[str, int]] = []
        for pieces, _, node in sorted(room, key=lambda r: (r[1] - r[0] * self.asker.piece_milli, r[2].name)):
            taken = min(pieces, left)
            if taken:
                found.append((node.name, taken))
                left -= taken
        return tuple(sorted(found))


def minimal(problem: Problem, chosen: Sequence[str]) -> frozenset[str]:
    """Without the units that are not needed, the last in rank given back first."""
    kept = set(chosen)
    places = {choice.unit.name: place for place, choice in enumerate(problem.choices)}
    for name in sorted(kept, key=lambda name: -places[name]):
        if problem.fits(kept - {name}):
            kept.discard(name)
    return frozenset(kept)
