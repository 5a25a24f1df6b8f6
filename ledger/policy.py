"""Policy: the few numbers a cluster's people may set, field by field, from an instant on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ledger.units import HOUR_S


class Policy(NamedTuple):
    """The numbers in force at an instant (POLICY §1 to §5, DESIGN §3 to §5).

    `enforcement` is observe, enforce or paused; `max_orders_per_hour` is 0 where runs may be ordered off without limit.
    The last three are rules a cluster may have or not (`enforcer.rules`).
    """

    window_h: int = 168
    horizon_h: int = 35 * 24
    max_min_runtime_s: int = 8 * HOUR_S
    ranking: str = "sliding"
    half_life_h: int = 84
    enforcement: str = "observe"
    preemption_delay_s: int = 60
    debug_delay_s: int = 10
    grace_s: int = 120
    hold_s: int = 300
    max_orders_per_hour: int = 0
    rebalance: bool = True
    debug_lane: bool = False
    priority_inside_leaf: bool = False


class PolicyChange(NamedTuple):
    """The fields an accepted `policy.set` names, in force from `at_s`."""

    at_s: int
    changes: tuple[tuple[str, Any], ...]


DEFAULT = Policy()


@dataclass(slots=True)
class Policies:
    """Accepted changes in log order."""

    changes: list[PolicyChange] = field(default_factory=list)
    opens_s: int | None = None
    _known: dict[tuple[int, int], Policy] = field(default_factory=dict, repr=False, compare=False)
    """By how many changes there are, and how many of them are in force."""

    def at(self, at_s: int) -> Policy:
        """The policy in force: per field the last accepted change up to the instant."""
        if not self.changes:
            return DEFAULT
        in_force = [change for change in self.changes if change.at_s <= at_s]
        key = len(self.changes), len(in_force)
        if key not in self._known:
            self._known[key] = DEFAULT._replace(**{k: v for change in in_force for k, v in change.changes})
        return self._known[key]

    def since_s(self, name: str, at_s: int) -> int:
        """When a field was last set, at the latest at an instant; 0 where it was not."""
        return max(
            (change.at_s for change in self.changes if change.at_s <= at_s and name in dict(change.changes)), default=0
        )

    def record(self) -> tuple[object, ...]:
        """Canonical record."""
        return ("policy", self.opens_s, self.changes)
