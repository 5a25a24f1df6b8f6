"""The optimisation as values, and the exact check every answer must pass. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class Problem:
    """Free enough for the asker. `most_lost_gpu_ms` bounds what funded units may lose together."""

    asker: Asker
    nodes: tuple[Node, ...]
    choices: tuple[Choice, ...]
    caps: tuple[Cap, ...]
    most_lost_gpu_ms: int

    @cached_property
    def places(self) -> dict[str, int]:
        """Where in rank a unit stands, by its name."""
        return {choice.unit.name: place for place, choice in enumerate(self.choices)}

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def spare_pieces(self) -> int:
        """How many of its pieces the asker has room for without anybody yielding."""
        return sum(self.pieces_on(node, 0) for node in self.nodes)

    def of(self, chosen: Iterable[str]) -> list[Choice]:
        """Choices by their units' names."""
        return [self.choices[self.places[name]] for name in chosen]

    def pieces_on(self, node: Node, freed_milli: int) -> int:
        """How many of the asker's pieces the node holds once so much more is free."""
        return self.asker.pieces_in(node.spare_milli + freed_milli) if node.usable else 0

    def freed(self, chosen: Iterable[str]) -> dict[str, int]:
        """Milli-GPUs by node that these units give free."""
        return by_node(choice.unit for choice in self.of(chosen))

    def fits(self, chosen: Iterable[str]) -> bool:
        """Whether the asker has room once these units are gone."""
        room = Room(self)
        for choice in self.of(chosen):
            room.free(choice.unit)
        return room.enough

    def allows(self, chosen: Collection[str]) -> bool:
        """Whether floors hold, and funded losses are in proportion."""
        held = {choice.unit.name: choice.unit.gpus_milli for choice in self.of(chosen)}
        if any(sum(held[name] for name in cap.units & held.keys()) > cap.most_milli for cap in self.caps):
            return False
        return self.lost_gpu_ms(chosen) <= self.most_lost_gpu_ms

    def lost_gpu_ms(self, chosen: Iterable[str]) -> int:
        """What the funded of these units lose."""
        return sum(c.unit.lost_gpu_ms for c in self.of(chosen) if c.class_ > Class.UNFUNDED)

    def objective(self, chosen: Iterable[str]) -> tuple[int, int, int, int, int]:
        """(units of class 2, of class 1, cost, milli-GPUs freed, sum of rank places): the least is best."""
        picked = [(self.places[name], self.choices[self.places[name]]) for name in chosen]
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


class Room:
    """What the asker has room for while units go and come back, one by one."""

    def __init__(self, problem: Problem) -> None:
        """Nobody has gone yet."""
        self._problem = problem
        self._freed: dict[str, int] = {}
        self._pieces = problem.spare_pieces

    @property
    def enough(self) -> bool:
        """Whether all pieces of the asker have room."""
        return self._pieces >= self._problem.asker.pieces

    def free(self, unit: Unit, sign: int = 1) -> None:
        """The unit goes."""
        problem = self._problem
        for name, milli in unit.placements:
            node = problem.by_name.get(name)
            if node is not None:
                before = self._freed.get(name, 0)
                after = self._freed[name] = before + sign * milli
                self._pieces += problem.pieces_on(node, after) - problem.pieces_on(node, before)

    def back(self, unit: Unit) -> None:
        """It stays after all."""
        self.free(unit, -1)


def minimal(problem: Problem, chosen: Sequence[str]) -> frozenset[str]:
    """Without the units that are not needed, the last in rank given back first."""
    kept, room = set(chosen), Room(problem)
    for choice in problem.of(chosen):
        room.free(choice.unit)
    for name in sorted(chosen, key=lambda name: -problem.places[name]):
        unit = problem.choices[problem.places[name]].unit
        room.back(unit)
        if room.enough:
            kept.discard(name)
        else:
            room.free(unit)
    return frozenset(kept)
