"""Runs that lately did not leave though they were ordered off: for a while nobody counts on them. Pure."""

from __future__ import annotations

from typing import Final

from ledger.acts import Plan, RunName
from ledger.state import State
from ledger.units import DAY_S

STAYS: Final = frozenset({"refused", "timed_out"})
"""How an order is settled that did not make its run leave."""
AGAIN_S: Final = 600
"""How long a run is left alone after that: another order would end alike, and cost somebody else a plan."""


def staying(state: State, at_s: int) -> set[RunName]:
    """The runs that are left alone at an instant."""
    return state.once("staying", str(at_s), lambda: _staying(state, at_s))


def _staying(state: State, at_s: int) -> set[RunName]:
    found: set[RunName] = set()
    for plan in reversed(state.acts.plans.values()):
        if plan.made.committed_s < at_s - DAY_S:
            break
        found.update(run for run, one in plan.settled.items() if one.outcome in STAYS and one.at_s > at_s - AGAIN_S)
    return found


def leaves(plan: Plan, run: RunName) -> bool:
    """Whether a plan may count on a run of its to leave."""
    settled = plan.settled.get(run)
    return settled is None or settled.outcome not in STAYS
