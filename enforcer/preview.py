"""What enforcement would do at the last tick, whatever is in force: whom it would order off, and for what. Pure.

As the next looks would find it (`protocol`): what is only observed is set aside, nodes are emptied before anybody is
planned for, and orders count against the limit of an hour as those of `enforce` do, in all pools together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from enforcer import drains, writing
from enforcer.classes import Class
from enforcer.gates import Refusal
from enforcer.gather import snapshots
from enforcer.pace import ordered_s, pace_of
from enforcer.plan import Plan, Victim, plan
from enforcer.promises import promised
from enforcer.rules import Rules, rules_of
from enforcer.snapshot import Asker, Snapshot, Unit
from ledger.acts import ENFORCE
from ledger.state import State


@dataclass(frozen=True, slots=True)
class Emptied:
    """A node that would be emptied, why in a sentence, and who would leave it."""

    node: str
    why: str
    victims: tuple[Victim, ...]

    @property
    def orders(self) -> int:
        """How many runs it orders off."""
        return sum(len(victim.unit.runs) for victim in self.victims)

    @property
    def lost_gpu_ms(self) -> int:
        """The work that would be lost."""
        return sum(victim.unit.lost_gpu_ms for victim in self.victims)


class Preview(NamedTuple):
    """By pool, what would be done, and why others get no plan."""

    made: list[tuple[str, Plan | Emptied]]
    refused: list[tuple[str, Refusal]]


def preview(state: State, only: str | None = None) -> Preview:
    """What would be done in every pool, or in one."""
    rules = rules_of(state.policy_at(state.ticked_s))
    found = Preview([], [])
    counted = ordered_s(state, ENFORCE)
    for pool, told in snapshots(state).items():
        if only not in {None, pool} and not rules.max_orders_per_hour:
            continue
        askers = tuple(_enforced(state, asker) for asker in told.askers)
        made, refused = _in_pool(state, replace(told, askers=askers, ordered_s=counted), rules)
        counted += (state.ticked_s,) * sum(one.orders for one in made)
        if only in {None, pool}:
            found.made.extend((pool, one) for one in made)
            found.refused.extend((pool, one) for one in refused)
    return found


def _enforced(state: State, asker: Asker) -> Asker:
    """The asker as if nothing were observed for it."""
    known = state.acts.open_for(asker.job)
    return replace(asker, planned=known is not None and known.enforces)


def _in_pool(state: State, snapshot: Snapshot, rules: Rules) -> tuple[list[Plan | Emptied], tuple[Refusal, ...]]:
    emptied = [
        Emptied(node, writing.why_emptied(state, node), tuple(_leaving(unit, snapshot) for unit in units))
        for node, units in drains.to_leave(state, snapshot, pace_of(snapshot, rules), observed=False)
    ]
    gone = tuple(victim.unit for one in emptied for victim in one.victims)
    counted = snapshot.ordered_s + (snapshot.at_s,) * sum(one.orders for one in emptied)
    plans, refused = plan(replace(promised(snapshot, None, {}, gone), ordered_s=counted), rules)
    return [*emptied, *plans], refused


def _leaving(unit: Unit, snapshot: Snapshot) -> Victim:
    class_ = Class.WITHIN if unit.account else Class.UNFUNDED
    return Victim(unit, class_, writing.DRAIN, unit.account, snapshot.ratio(unit.account))
