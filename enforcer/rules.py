"""The numbers of the policy (POLICY §2 to §4), each with what it is for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ledger.acts import ENFORCE
from ledger.events.acts import Mode
from ledger.policy import Policy


@dataclass(frozen=True, slots=True)
class Rules:
    """Fractions are exact; times are seconds."""

    hysteresis: Fraction = Fraction(1, 20)
    """How far apart two ratios must be before one yields to the other: without it neighbours swap for ever."""
    delay_s: int = 60
    """How long an asker waits first; something may end by itself."""
    debug_delay_s: int = 10
    max_min_runtime_s: int = 8 * 3600
    floor: Fraction = Fraction(1, 2)
    """Part of its share below which nobody is taken from."""
    proportion: Fraction = Fraction(1, 2)
    """Lost work at most this part of what the asker will surely do."""
    debug_proportion: Fraction = Fraction(1, 4)
    least_gain_s: int = 3600
    """An asker counts for at least so long when losses are weighed."""
    preemptions_a_day: int = 3
    """Per lineage, of funded work."""
    longest_windows: int = 4
    """How many windows a contract larger than the claim of one may be spread over."""
    rebalance: bool = True
    """R2. It is what makes a scheduling contract end."""
    debug_lane: bool = False
    """R3."""
    debug_lane_milli: int = 16_000
    """GPUs an account may have at once in debug runs inside their contracts, to ask under R3."""
    grace_s: int = 120
    """How long a run that is ordered off may take to leave."""
    hold_s: int = 300
    """How long freed room is kept for its asker."""
    max_orders_per_hour: int = 0
    """How many runs may be ordered off in an hour; 0: without limit."""
    priority_inside_leaf: bool = False
    """Whether declared priority moves banked work of the same account."""


def mode_of(policy: Policy) -> Mode:
    """Whether plans made under a policy are carried out, or only observed."""
    return "enforce" if policy.enforcement == ENFORCE else "observe"


def rules_of(policy: Policy) -> Rules:
    """The rules under a cluster's policy; what it does not name is as POLICY says."""
    return Rules(
        delay_s=policy.preemption_delay_s,
        debug_delay_s=policy.debug_delay_s,
        max_min_runtime_s=policy.max_min_runtime_s,
        grace_s=policy.grace_s,
        hold_s=policy.hold_s,
        max_orders_per_hour=policy.max_orders_per_hour,
        rebalance=policy.rebalance,
        debug_lane=policy.debug_lane,
        priority_inside_leaf=policy.priority_inside_leaf,
    )
