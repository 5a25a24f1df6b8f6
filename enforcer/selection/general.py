"""The optimum by HiGHS (scipy), stage by stage, each answer checked in exact arithmetic.

Stages in order of weight: fewest of class 2, fewest of class 1, least cost, least freed, first in rank. Each is
solved with the optima of those before it as constraints; one weighted sum would lose the small ones in the rounding
of the large.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, vstack

from enforcer.classes import Class
from enforcer.selection.problem import Choice, Problem, minimal
from enforcer.snapshot import Node, by_node

SURE: Final = 1e-6
"""HiGHS may overstep a bound by so much. The bound on losses has that much room, lest what meets it exactly be lost;
it is drawn in by as much where the answer then oversteps it. Both answers are checked."""

Vector = NDArray[np.float64]


def solve(problem: Problem) -> frozenset[str] | None:
    """The best units to yield; None where no choice of them makes room within the bounds."""
    loose = _Model(problem, 1 + SURE).solve()
    if loose is None or problem.allows(loose):
        return loose
    tight = _Model(problem, 1 - SURE).solve()
    return tight if tight is not None and problem.allows(tight) else None


class _Model:
    """x_v: unit v yields; y_n: pieces of the asker that node n hosts."""

    def __init__(self, problem: Problem, bound: float) -> None:
        self.problem = problem
        asker = problem.asker
        freed = by_node(choice.unit for choice in problem.choices)
        self.nodes = [n for n in problem.nodes if problem.pieces_on(n, freed.get(n.name, 0))]
        hosts = {node.name for node in self.nodes}
        self.choices = [c for c in problem.choices if any(name in hosts for name, _ in c.unit.placements)]
        self.most = [problem.pieces_on(n, freed.get(n.name, 0)) for n in self.nodes]
        self.scale = _scale(asker.piece_milli, self.nodes, self.choices)
        self.size = len(self.choices) + len(self.nodes)
        self.rows: list[csr_array] = []
        self.lower: list[Vector] = []
        self.upper: list[Vector] = []
        self._room()
        self._bounds(bound)

    def solve(self) -> frozenset[str] | None:
        counted = [class_ for class_ in (Class.WITHIN, Class.OVER) if any(c.class_ == class_ for c in self.choices)]
        stages: list[list[int]] = [[int(c.class_ == class_) for c in self.choices] for class_ in counted]
        stages += [
            [c.cost for c in self.choices],
            [c.unit.gpus_milli // self.scale for c in self.choices],
            [self.problem.places[c.unit.name] for c in self.choices],
        ]
        chosen: frozenset[str] | None = None
        for weights in stages:
            x = self._optimum(weights)
            if x is None:
                break
            chosen = frozenset(c.unit.name for c, yields in zip(self.choices, x, strict=True) if yields)
            self._fix(weights, x)
        if chosen is None:
            return None
        kept = minimal(self.problem, sorted(chosen))
        return kept if self.problem.fits(kept) else None

    def _optimum(self, weights: Sequence[int]) -> list[bool] | None:
        objective = np.zeros(self.size)
        objective[: len(weights)] = weights
        most = np.concatenate([np.ones(len(self.choices)), np.array(self.most, float)])
        answer = milp(
            objective,
            integrality=np.ones(self.size),
            bounds=Bounds(np.zeros(self.size), most),
            constraints=LinearConstraint(
                vstack(self.rows, format="csc"), np.concatenate(self.lower), np.concatenate(self.upper)
            ),
            options={"mip_rel_gap": 0.0},
        )
        if answer.x is None:
            return None
        return [bool(value > 0.5) for value in answer.x[: len(self.choices)]]  # noqa: PLR2004 -- halves part 0 from 1

    def _room(self) -> None:
        """Every host has room for the pieces it takes, and all pieces are taken."""
        places = {node.name: row for row, node in enumerate(self.nodes)}
        entries = [
            (places[name], column, milli // self.scale)
            for column, choice in enumerate(self.choices)
            for name, milli in choice.unit.placements
            if name in places
        ]
        piece = self.problem.asker.piece_milli // self.scale
        first = len(self.choices)
        entries += [(row, first + row, -piece) for row in range(len(self.nodes))]
        spare = np.array([-(node.spare_milli // self.scale) for node in self.nodes], float)
        self._add(len(self.nodes), entries, spare, np.full(len(self.nodes), np.inf))
        every = [(0, first + row, 1) for row in range(len(self.nodes))]
        self._add(1, every, np.array([float(self.problem.asker.pieces)]), np.array([np.inf]))

    def _bounds(self, bound: float) -> None:
        """Floors, and the proportion of what is lost."""
        for cap in self.problem.caps:
            entries = [
                (0, column, choice.unit.gpus_milli // self.scale)
                for column, choice in enumerate(self.choices)
                if choice.unit.name in cap.units
            ]
            if entries:
                self._at_most(entries, cap.most_milli // self.scale)
        funded = [(n, c.unit.lost_gpu_ms) for n, c in enumerate(self.choices) if c.class_ > Class.UNFUNDED]
        most = max(1, self.problem.most_lost_gpu_ms)
        if sum(lost for _, lost in funded) > self.problem.most_lost_gpu_ms:
            self._at_most([(0, column, lost / most) for column, lost in funded], bound)

    def _fix(self, weights: Sequence[int], x: Sequence[bool]) -> None:
        best = sum(weight for weight, yields in zip(weights, x, strict=True) if yields)
        self._at_most([(0, column, weight) for column, weight in enumerate(weights) if weight], best)

    def _at_most(self, entries: Sequence[tuple[int, int, float]], most: float) -> None:
        self._add(1, entries, np.array([-np.inf]), np.array([float(most)]))

    def _add(self, height: int, entries: Sequence[tuple[int, int, float]], lower: Vector, upper: Vector) -> None:
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (height, self.size)
        self.rows.append(
            csr_array(coo_array((np.array(values, float), (np.array(rows, int), np.array(columns, int))), shape))
        )
        self.lower.append(lower)
        self.upper.append(upper)


def _scale(piece_milli: int, nodes: Sequence[Node], choices: Sequence[Choice]) -> int:
    """What divides all amounts: small whole numbers are what HiGHS is exact with."""
    amounts = [piece_milli, *(n.spare_milli for n in nodes)]
    amounts += [milli for c in choices for _, milli in c.unit.placements]
    return gcd(*amounts) or 1
