"""Nodes that drain: what runs there and may be interrupted leaves at once, the rest once it is banked. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from enforcer.snapshot import Snapshot
from ledger.acts import Plan, RunName
from ledger.state import State

DRAINING: Final = frozenset({"draining", "planned_down"})
AGAIN_S: Final = 600
"""After an order of a drain came to nothing its run is left alone for so long."""


def to_leave(state: State, snapshot: Snapshot, now_s: int) -> Iterator[tuple[str, list[RunName]]]:
    """(node, runs) that are to be ordered off; a gang leaves as one, by the first of its nodes that drains."""
    emptying = [node for node in snapshot.nodes if not node.usable and _drains(state, node.name)]
    named = set(_named(state, now_s)) if emptying else set()
    for node in emptying:
        runs = [
            run
            for unit in snapshot.units
            if any(name == node.name for name, _ in unit.placements)
            and (not unit.account or snapshot.at_s >= unit.contract_end_s)
            and not named & set(unit.runs)
            for run in unit.runs
        ]
        if runs:
            named.update(runs)
            yield node.name, runs


def _drains(state: State, node: str) -> bool:
    (stretch,) = state.nodes[node].stretches(state.ticked_s, state.ticked_s + 1)
    return stretch.state in DRAINING


def _named(state: State, now_s: int) -> Iterator[RunName]:
    """Runs that an open plan orders off or another drain names, and those that lately would not leave."""
    for plan in state.acts.plans.values():
        if (plan.expired is None and (plan.enforces or plan.made.purpose == "drain")) or _lately(plan, now_s):
            yield from (victim.run for victim in plan.made.victims)


def _lately(plan: Plan, now_s: int) -> bool:
    over = plan.expired
    return plan.made.purpose == "drain" and over is not None and over.at_s > now_s - AGAIN_S
