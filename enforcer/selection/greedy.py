"""By rank until there is room, then give back what was not needed: quick, and what the optimum is measured against."""

from __future__ import annotations

from enforcer.classes import Class
from enforcer.selection.problem import Problem, Room, minimal


def solve(problem: Problem) -> frozenset[str] | None:
    """Units that make room within the bounds; None where this does not find any."""
    chosen: list[str] = []
    room = Room(problem)
    for choice in sorted(problem.choices, key=lambda c: (c.class_, c.cost)):
        if room.enough:
            break
        if choice.class_ == Class.UNFUNDED or problem.allows([*chosen, choice.unit.name]):
            chosen.append(choice.unit.name)
            room.free(choice.unit)
    kept = minimal(problem, chosen) if room.enough else None
    return kept if kept is not None and problem.allows(kept) else None
