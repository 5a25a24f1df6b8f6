"""Sums of one hour, per pool: what each leaf account claimed, used, asked; what the nodes gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

CLAIM: Final = 0
GRANT: Final = 1
CHARGED: Final = 2
REFUNDED: Final = 3
DEMAND: Final = 4
COMMITMENT: Final = 5
UNFUNDED: Final = 6
FIELDS: Final = 7

NODE_FIELDS: Final = (
    "capacity",
    "overbooked",
    "unfunded",
    "protected",
    "interruptible",
    "suspended",
    "idle",
    "planned",
    "unplanned",
)
"""Order of the capacity sums, as in the columns of node_hours and cluster_hours."""
NODE_FIELD: Final = {name: place for place, name in enumerate(NODE_FIELDS)}

Sums = list[int]
"""GPU-milliseconds by field."""


@dataclass(slots=True)
class PoolHour:
    """One pool in one hour: sums per leaf account, the capacity book summed over nodes, claims in all."""

    accounts: dict[str, Sums] = field(default_factory=dict)
    nodes: Sums = field(default_factory=lambda: [0] * len(NODE_FIELDS))
    claimed_gpu_ms: int = 0

    def account(self, name: str) -> Sums:
        """The account's sums, zero until something is added."""
        found = self.accounts.get(name)
        if found is None:
            found = self.accounts[name] = [0] * FIELDS
        return found

    def claim(self, account: str, amount_gpu_ms: int) -> None:
        """Add to the account's claim, and to the pool's total of claims."""
        self.account(account)[CLAIM] += amount_gpu_ms
        self.claimed_gpu_ms += amount_gpu_ms


Hour = dict[str, PoolHour]
"""By pool."""


def owed_gpu_ms(sums: Sums) -> int:
    """min(claim + grant, demand)."""
    return min(sums[CLAIM] + sums[GRANT], sums[DEMAND])
