"""Nodes that drain, or whose maintenance is near: what runs there and may be interrupted leaves at once, the rest once
it is banked. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from enforcer import windows
from enforcer.pace import Pace
from enforcer.snapshot import Snapshot, Unit
from ledger.acts import RunName
from ledger.state import State

DRAINING: Final = frozenset({"draining", "planned_down"})


def to_leave(
    state: State, snapshot: Snapshot, pace: Pace, *, observed: bool = True
) -> Iterator[tuple[str, list[Unit]]]:
    """(node, units) that are to be ordered off, as many as may be; a gang by the first of its nodes that is emptied.

    Without `observed`, also what a drain names that is only observed.
    """
    due = windows.emptying(state)
    emptying = [n for n in snapshot.nodes if not n.usable and (n.name in due or _drains(state, n.name))]
    named = set(_named(state, observed=observed)) if emptying else set()
    for node in emptying:
        units = [
            unit
            for unit in snapshot.units
            if any(name == node.name for name, _ in unit.placements)
            and (not unit.account or snapshot.at_s >= unit.contract_end_s)
            and not named & set(unit.runs)
            and pace.admits(len(unit.runs))
        ]
        if units:
            named.update(run for unit in units for run in unit.runs)
            yield node.name, units


def _drains(state: State, node: str) -> bool:
    (stretch,) = state.nodes[node].stretches(state.ticked_s, state.ticked_s + 1)
    return stretch.state in DRAINING


def _named(state: State, *, observed: bool) -> Iterator[RunName]:
    """Runs that an open plan orders off, or another drain names."""
    for plan in state.acts.open():
        if plan.enforces or (observed and plan.made.purpose == "drain"):
            yield from (victim.run for victim in plan.made.victims)
