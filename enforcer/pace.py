"""How many runs may be ordered off in an hour, counted from the plans of the log. Pure.

A run counts when it was ordered off; one that a plan names and does not order yet, when that was committed. Where
nobody is ordered off, in `observe`, it counts as if. Who is held back is not overtaken by who would need fewer orders.
"""

from __future__ import annotations

from typing import Final

from enforcer.gates import Refusal
from enforcer.rules import Rules, mode_of
from enforcer.snapshot import Snapshot
from ledger.acts import OBSERVE
from ledger.events.acts import Mode
from ledger.state import State
from ledger.units import HOUR_S

RATE: Final = "rate"
NAME: Final = "rate_limit"


def ordered_s(state: State, mode: Mode | None = None) -> tuple[int, ...]:
    """When the runs were ordered off that count at the last tick, ascending; none where the policy has no limit.

    Those of one mode count: of what is in force, if none is named.
    """
    policy = state.policy_at(state.ticked_s)
    if not policy.max_orders_per_hour:
        return ()
    mode = mode or mode_of(policy)
    found: list[int] = []
    for plan in state.acts.plans.values():
        if plan.made.mode != mode:
            continue
        found += [order.at_s for order in plan.issued.values()]
        if not plan.issued and (mode == OBSERVE or plan.expired is None):
            found += [plan.made.committed_s] * len(plan.made.victims)
    return tuple(sorted(at_s for at_s in found if at_s > state.ticked_s - HOUR_S))


class Pace:
    """Lets orders through up to the limit of an hour; 0 is none. `until_s` is when the first held back may go."""

    def __init__(self, ordered_s: tuple[int, ...], limit: int, at_s: int) -> None:
        """As many as are counted at an instant."""
        self._ordered_s = list(ordered_s)
        self._limit = limit
        self._at_s = at_s
        self.until_s: int | None = None

    def admits(self, orders: int) -> bool:
        """Whether so many may be given now; they are counted then."""
        if not self._limit:
            return True
        if orders > self._limit:
            return False
        over = len(self._ordered_s) + orders - self._limit
        if over > 0 and self.until_s is None:
            self.until_s = sorted(self._ordered_s)[over - 1] + HOUR_S
        if self.until_s is not None:
            return False
        self._ordered_s += [self._at_s] * orders
        return True

    def full(self, job: str) -> Refusal | None:
        """Why nobody is to be planned for now: the hour's orders are given, or somebody before waits for his."""
        if not self._limit or (self.until_s is None and len(self._ordered_s) < self._limit):
            return None
        self.admits(1)
        return self.refusal(job)

    def refusal(self, job: str, orders: int = 0) -> Refusal:
        """What somebody is told who was not admitted, and whose plan needs so many orders, if that is known."""
        told = f"at most {self._limit} runs are ordered off in an hour, and {len(self._ordered_s)} are counted"
        if orders:
            told += f"; room for it takes {orders}"
        return Refusal(job, RATE, NAME, told, None if orders > self._limit else self.until_s)


def pace_of(snapshot: Snapshot, rules: Rules) -> Pace:
    """The pace of a pool at an instant."""
    return Pace(snapshot.ordered_s, rules.max_orders_per_hour, snapshot.at_s)
