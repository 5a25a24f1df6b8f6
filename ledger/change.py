"""What one event changes of closed hours, gathered before it is written.

So each hour gets one transaction and each key one version per cause.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ledger.events import ClusterEvent
from ledger.hours import Sums
from ledger.postings import Legs
from ledger.statements import cause_of
from ledger.units import HOUR_S
from ledger.writer import Writer


@dataclass(slots=True)
class Change:
    """Legs to post and keys to write again, by hour."""

    legs: dict[int, Legs] = field(default_factory=lambda: defaultdict(dict))
    accounts: dict[int, dict[tuple[str, str], None]] = field(default_factory=lambda: defaultdict(dict))
    pools: dict[int, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    nodes: dict[tuple[int, str], dict[str, Sums]] = field(default_factory=dict)

    def _span(self) -> tuple[int, int]:
        hours = [h for h, legs in self.legs.items() if any(legs.values())] + list(self.accounts)
        return min(hours), max(hours) + HOUR_S

    def _moved_gpu_ms(self) -> int:
        return sum(abs(amount) for legs in self.legs.values() for amount in legs.values()) // 2

    def add_legs(self, hour_s: int, legs: Legs) -> None:
        """Legs of the hour, added to what stands there."""
        mine = self.legs[hour_s]
        for leg, amount in legs.items():
            mine[leg] = mine.get(leg, 0) + amount

    def touch_account(self, hour_s: int, pool: str, account: str) -> None:
        """The account's sums of the hour changed, and so may the pool's claimed total have."""
        self.accounts[hour_s][pool, account] = None
        self.pools[hour_s][pool] = None

    def touch_node(self, hour_s: int, node: str, before: dict[str, Sums], after: dict[str, Sums]) -> None:
        """The node's hour now reads `after`; a pool it no longer has reads zero."""
        zero = {pool: [0] * len(sums) for pool, sums in before.items()}
        self.nodes[hour_s, node] = zero | after
        for pool in zero | after:
            self.pools[hour_s][pool] = None

    def write(self, writer: Writer, event: ClusterEvent) -> None:
        """All of it as rows under the event as their cause."""
        cause = cause_of(event.source, event.id, writer.state.seq)
        if self.accounts or self.pools:
            writer.state.revised += 1
        if any(any(legs.values()) for legs in self.legs.values()) or self.accounts:
            writer.correction(event, cause, *self._span(), self._moved_gpu_ms())
        for hour_s, legs in self.legs.items():
            writer.post(hour_s, cause, {leg: amount for leg, amount in legs.items() if amount})
        for (hour_s, node), sums in self.nodes.items():
            writer.node(hour_s, node, sums)
        for hour_s, touched in self.accounts.items():
            writer.accounts(hour_s, cause, touched)
        for hour_s, pools in self.pools.items():
            writer.pools(hour_s, cause, pools)
