"""Turns sums and legs of the state into rows, under the seq and recorded time of the event at hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ledger.events import ClusterEvent
from ledger.hours import (
    CHARGED,
    CLAIM,
    COMMITMENT,
    DEMAND,
    FIELDS,
    GRANT,
    REFUNDED,
    UNFUNDED,
    PoolHour,
    Sums,
    owed_gpu_ms,
)
from ledger.postings import Legs, transaction
from ledger.rows import AccountHour, ClusterHour, Correction, NodeHour, OpenHour, Posting, Remark, Row
from ledger.state import State
from ledger.units import epoch_s

NO_POOL = PoolHour()
NO_SUMS: Sums = [0] * FIELDS


@dataclass(slots=True)
class Writer:
    """Rows by table, in the order they were made, until somebody takes them."""

    state: State
    rows: dict[type[Row], list[Any]] = field(default_factory=lambda: defaultdict(list))

    def take(self) -> dict[type[Row], list[Any]]:
        """The rows so far; the buffer starts anew."""
        rows, self.rows = self.rows, defaultdict(list)
        return rows

    def post(self, hour_s: int, cause: bytes, legs: Legs) -> None:
        """A balanced transaction."""
        state = self.state
        self.rows[Posting] += transaction(state.cluster, hour_s, cause, legs, state.seq, state.recorded_s)

    def accounts(self, hour_s: int, cause: bytes, touched: Iterable[tuple[str, str]]) -> None:
        """A version of each (pool, account) of a closed hour."""
        state = self.state
        for pool, account in touched:
            sums = state.hours.get(hour_s, {}).get(pool, NO_POOL).accounts.get(account, NO_SUMS)
            self.rows[AccountHour].append(
                AccountHour(state.cluster, pool, account, hour_s, cause, *columns(sums), state.seq, state.recorded_s)
            )

    def pools(self, hour_s: int, cause: bytes, touched: Iterable[str]) -> None:
        """A version of each pool's closed hour."""
        state = self.state
        for pool in touched:
            found = state.hours.get(hour_s, {}).get(pool, NO_POOL)
            self.rows[ClusterHour].append(
                ClusterHour(
                    state.cluster,
                    pool,
                    hour_s,
                    cause,
                    *node_columns(found.nodes),
                    found.claimed_gpu_ms,
                    state.seq,
                    state.recorded_s,
                )
            )

    def node(self, hour_s: int, node: str, sums: dict[str, Sums]) -> None:
        """A node's closed hour, per pool."""
        state = self.state
        for pool, amounts in sums.items():
            self.rows[NodeHour].append(
                NodeHour(state.cluster, pool, node, hour_s, *node_columns(amounts), state.seq, state.recorded_s)
            )

    def open_hour(self, hour_s: int, until_s: int, pool: str, account: str, sums: Sums) -> None:
        """An account's provisional hour."""
        state = self.state
        self.rows[OpenHour].append(
            OpenHour(state.cluster, pool, account, hour_s, until_s, *columns(sums), state.seq, state.recorded_s)
        )

    def correction(self, event: ClusterEvent, cause: bytes, since_s: int, until_s: int, moved_gpu_ms: int) -> None:
        """The event at hand changed closed hours."""
        state = self.state
        self.rows[Correction].append(
            Correction(
                state.cluster,
                cause,
                event.source,
                event.id,
                event.type,
                event.subject or "",
                epoch_s(event.time),
                since_s,
                until_s,
                moved_gpu_ms,
                state.seq,
                state.recorded_s,
            )
        )

    def remark(self, name: str, subject: str, sentence: str, source: str, event_id: str) -> None:
        """A named outcome of an accepted event."""
        state = self.state
        self.rows[Remark].append(
            Remark(state.cluster, state.seq, name, subject, sentence, source, event_id, state.recorded_s)
        )


def node_columns(sums: Sums) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Capacity sums in the order of NODE_FIELDS, which is that of the columns."""
    capacity, overbooked, unfunded, protected, interruptible, suspended, idle, planned, unplanned = sums
    return capacity, overbooked, unfunded, protected, interruptible, suspended, idle, planned, unplanned


def columns(sums: Sums) -> tuple[int, int, int, int, int, int, int, int]:
    """An account's sums in the order of the columns of account_hours, with owed."""
    return (
        sums[CLAIM],
        sums[GRANT],
        sums[CHARGED],
        sums[REFUNDED],
        sums[DEMAND],
        owed_gpu_ms(sums),
        sums[COMMITMENT],
        sums[UNFUNDED],
    )
