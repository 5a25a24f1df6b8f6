"""The best units to yield, by the quick way where it decides and by the general one where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from enforcer.selection import general, greedy, nodewise
from enforcer.selection.nodewise import Undecided
from enforcer.selection.problem import Problem


def solve(problem: Problem) -> frozenset[str] | None:
    """The best units to yield; None where no choice of them makes room within the bounds."""
    if problem.fits(()):
        return frozenset()
    for part in _by_class(problem):
        if part.fits(part.places):
            found = _best(part)
            if found is not None:
                return found
    return None


def _by_class(problem: Problem) -> Iterator[Problem]:
    """Classes are added only when the lower ones do not suffice, which is P1 by construction."""
    for highest in sorted({choice.class_ for choice in problem.choices}):
        yield replace(problem, choices=tuple(choice for choice in problem.choices if choice.class_ <= highest))


def _best(problem: Problem) -> frozenset[str] | None:
    try:
        return nodewise.solve(problem, greedy.solve(problem))
    except Undecided:
        return general.solve(problem)
