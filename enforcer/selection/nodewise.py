"""The optimum node by node: exact, and quick where little but gangs ties one node to another. Pure.

The five parts of the objective are packed into one whole number, so that sums compare as the parts do. On each node
the least weight that makes room for one more piece, two more … is found alone, and the asker takes the least of all
nodes. A gang counts on each of its nodes with so small a part of its weight that they cannot add up to more than it:
where the least counts every gang in full or not at all, nothing is better; else one gang is tried both ways (branch
and bound). Floors and losses are not looked at on the way: where the least breaks one, this gives up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from math import lcm
from typing import Final, NamedTuple

from enforcer.classes import Class
from enforcer.selection.problem import Choice, Problem, minimal

MOST_TRIED: Final = 200
"""So many ways with gangs are tried, before this gives up."""
MOST_SUMS: Final = 200_000
"""And so many sums of what units on a node hold: slices of all sizes have too many."""


class Undecided(Exception):
    """Floors or losses bind, or there are too many gangs or slices: somebody else has to find the best."""


class _Item(NamedTuple):
    """A unit on one node, as a bit: what it holds there, and its weight, or a gang's part of it."""

    bit: int
    milli: int
    weight: int


class _Host(NamedTuple):
    """A node where units may yield, in rank order."""

    spare_milli: int
    items: tuple[_Item, ...]


class _Offer(NamedTuple):
    """Room for so many pieces as it is, and for one more, two more … at the least (weight, units)."""

    pieces: int
    more: tuple[tuple[int, int], ...]


class _Part(NamedTuple):
    """Hosts that are used, with the units that yield on each, and their weight."""

    weight: int
    units: tuple[int, ...]


def solve(problem: Problem, known: frozenset[str] | None) -> frozenset[str] | None:
    """The best units; None where no choice makes room. `known` is an answer that may not be the best.

    Raises Undecided.
    """
    search = _Search(problem)
    if known is not None:
        search.least = search.weigh(known), known
    search.branch(0, 0)
    return None if search.least is None else search.least[1]


class _Search:
    """Sets of units are the bits of a whole number, the first in rank the lowest."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.least: tuple[int, frozenset[str]] | None = None
        held: dict[str, list[tuple[int, int]]] = {node.name: [] for node in problem.nodes if node.usable}
        wide: list[int] = []
        for place, choice in enumerate(problem.choices):
            names = [(name, milli) for name, milli in choice.unit.placements if name in held]
            wide.append(max(1, min(len(names), problem.asker.pieces)))
            for name, milli in names:
                held[name].append((place, milli))
        scale = lcm(*set(wide))
        self._weights = [weight * scale for weight in _packed(problem)]
        self._parts = [weight // width for weight, width in zip(self._weights, wide, strict=True)]
        self._hosts = [
            _Host(
                problem.by_name[name].spare_milli,
                tuple(_Item(1 << place, milli, self._parts[place]) for place, milli in on),
            )
            for name, on in sorted(held.items())
        ]
        self._offers: dict[tuple[int, int, int], _Offer] = {}
        self._tried = 0
        self._sums = 0

    def weigh(self, names: frozenset[str]) -> int:
        """The objective of units as one number."""
        return sum(self._weights[self.problem.places[name]] for name in names)

    def branch(self, inside: int, outside: int) -> None:
        """Look for better where some gangs yield and others stay, for sure."""
        self._tried += 1
        if self._tried > MOST_TRIED:
            raise Undecided
        found = self._relaxed(inside, outside)
        if found is None or not self._better(found.weight):
            return
        counted = Counter(place for units in found.units for place in _places(units))
        torn = [place for place, times in counted.items() if times * self._parts[place] < self._weights[place]]
        names = [self.problem.choices[place].unit.name for place in {*counted, *_places(inside)}]
        whole = minimal(self.problem, names)
        allowed = self.problem.allows(whole)
        if not torn and not allowed:
            raise Undecided
        if allowed and self._better(self.weigh(whole)):
            self.least = self.weigh(whole), whole
        if torn:
            gang = 1 << max(torn, key=lambda place: (self._weights[place], place))
            self.branch(inside | gang, outside)
            self.branch(inside, outside | gang)

    def _better(self, weight: int) -> bool:
        return self.least is None or weight < self.least[0]

    def _relaxed(self, inside: int, outside: int) -> _Part | None:
        """The least with gangs counted by the node; None where nothing makes room."""
        offers = [self._offer(n, inside, outside) for n in range(len(self._hosts))]
        wanted = self.problem.asker.pieces - sum(offer.pieces for offer in offers)
        base = sum(self._weights[place] for place in _places(inside))
        found = _Part(0, ()) if wanted <= 0 else _picked([offer.more for offer in offers if offer.more], wanted)
        return None if found is None else _Part(base + found.weight, found.units)

    def _offer(self, host: int, inside: int, outside: int) -> _Offer:
        """What a host has: gangs inside give their room for nothing here, those outside give none."""
        spare_milli, items = self._hosts[host]
        mine = sum(item.bit for item in items)
        key = host, inside & mine, outside & mine
        if key not in self._offers:
            spare_milli += sum(item.milli for item in items if item.bit & inside)
            open_ = [i for i in items if not i.bit & (inside | outside) and self._better(i.weight)]
            self._offers[key] = self._offered(spare_milli, open_)
        return self._offers[key]

    def _offered(self, spare_milli: int, items: Sequence[_Item]) -> _Offer:
        asker = self.problem.asker
        pieces = asker.pieces_in(spare_milli)
        most = min(asker.pieces_in(spare_milli + sum(item.milli for item in items)), pieces + asker.pieces)
        needs = [(pieces + more) * asker.piece_milli - spare_milli for more in range(1, most - pieces + 1)]
        if not needs:
            return _Offer(pieces, ())
        least = {0: (0, 0)}
        for bit, milli, weight in items:
            self._sums += len(least)
            if self._sums > MOST_SUMS:
                raise Undecided
            for freed, (sofar, units) in list(least.items()):
                at = min(freed + milli, needs[-1])
                offered = (sofar + weight, units | bit)
                if self._better(offered[0]) and (at not in least or offered < least[at]):
                    least[at] = offered
        more = (min((one for freed, one in least.items() if freed >= need), default=None) for need in needs)
        return _Offer(pieces, tuple(one for one in more if one is not None))


def _picked(offers: Sequence[tuple[tuple[int, int], ...]], wanted: int) -> _Part | None:
    """So many pieces for the least weight, from offers of one more, two more … each."""
    if all(len(offer) == 1 for offer in offers):
        chosen = nsmallest(wanted, (offer[0] for offer in offers), key=lambda one: one[0])
        whole = len(chosen) == wanted
        return _Part(sum(weight for weight, _ in chosen), tuple(units for _, units in chosen)) if whole else None
    least = {0: _Part(0, ())}
    for offer in offers:
        for pieces, part in list(least.items()):
            for more, (weight, units) in enumerate(offer, start=1):
                at = min(pieces + more, wanted)
                if at not in least or part.weight + weight < least[at].weight:
                    least[at] = _Part(part.weight + weight, (*part.units, units))
    return least.get(wanted)


def _packed(problem: Problem) -> Iterator[int]:
    """Each unit's part of the objective as one number: sums of them compare as the objectives do."""
    parts = [(*_counted(choice), place) for place, choice in enumerate(problem.choices)]
    sizes = [sum(column) + 1 for column in zip(*parts, strict=True)]
    for part in parts:
        weight = 0
        for value, size in zip(part, sizes, strict=True):
            weight = weight * size + value
        yield weight


def _counted(choice: Choice) -> tuple[int, int, int, int]:
    return choice.class_ == Class.WITHIN, choice.class_ == Class.OVER, choice.cost, choice.unit.gpus_milli


def _places(units: int) -> Iterator[int]:
    """The places of the bits that are set, lowest first."""
    while units:
        lowest = units & -units
        yield lowest.bit_length() - 1
        units ^= lowest
