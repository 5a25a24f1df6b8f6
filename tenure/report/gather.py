"""Asks the store for everything a pack is made of. The only I/O of the report, and no arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from ledger.policy import Policy
from ledger.ranking import WEIGHT_BITS, Decay, Sliding, Weighting
from ledger.store.protocol import Store, Table, Value
from ledger.units import HOUR_S
from tenure.report.period import LATEST_S
from tenure.report.values import (
    Asking,
    CapacityHour,
    Corrected,
    Decided,
    Granted,
    Leaf,
    LeafHour,
    OccupiedHour,
    Overbooked,
    PoolSpan,
    Question,
    RefusedFor,
    Remarked,
    ShareLine,
)

R = TypeVar("R", bound=tuple[Any, ...])

POLICY_FIELD: Final = re.compile(r"(?P<name>\w+)=(?P<value>\w+)")
"""How the book writes a policy decision: `half_life_h=84, ranking=decay`."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The store's answers to one question. `occupied` is None where the subtree is everything."""

    question: Question
    weighting: Weighting
    capacity: list[CapacityHour]
    occupied: list[OccupiedHour] | None
    leaves: list[Leaf]
    leaf_hours: list[LeafHour]
    requests: list[Asking]
    decisions: list[Decided]
    shares: list[ShareLine]
    grants: list[Granted]
    corrections: list[Corrected]
    refusals: list[RefusedFor]
    overbooked: list[Overbooked]
    remarks: list[Remarked]


def pool_spans(store: Store, cluster: str, known_at_s: int | None = None) -> list[PoolSpan]:
    """From when until when pools are closed, as known at an instant (None: now); `cluster` '' is every cluster."""
    known = {"cluster": cluster, "known_at_s": LATEST_S if known_at_s is None else known_at_s}
    return rows(PoolSpan, store.query("report_pack_pools", known))


def recorded_s(store: Store, cluster: str) -> int:
    """When the last record of the cluster's log was taken that its book is settled for; 0 without one."""
    rows = store.query("report_pack_clusters").rows
    return next((cast("int", recorded) for name, recorded, _ in rows if name == cluster), 0)


def gather(store: Store, question: Question) -> Gathered:
    """Everything the pack needs, as of and as known at the question's instants."""
    asked = _parameters(question)
    decisions = rows(Decided, store.query("report_pack_decisions", asked | {"until_s": question.decided_until_s}))
    policy = policy_at(decisions, question.as_of_s)
    weighting = Decay(policy.half_life_h) if policy.ranking == "decay" else Sliding(policy.window_h)
    window = asked | {"from_s": window_from_s(policy, question.as_of_s), "until_s": question.as_of_s}
    occupied = store.query("report_pack_occupied_hours", asked) if question.account else None
    return Gathered(
        question,
        weighting,
        rows(CapacityHour, store.query("report_pack_cluster_hours", asked)),
        None if occupied is None else rows(OccupiedHour, occupied),
        rows(Leaf, store.query("report_pack_leaves", asked)),
        rows(LeafHour, store.query("report_pack_leaf_hours", window)),
        rows(Asking, store.query("report_pack_requests", asked)),
        decisions,
        rows(ShareLine, store.query("report_pack_shares", asked)),
        rows(Granted, store.query("report_pack_grants", asked | {"until_s": question.asked_until_s})),
        rows(Corrected, store.query("report_pack_corrections", asked)),
        rows(RefusedFor, store.query("report_pack_refusals", asked)),
        rows(Overbooked, store.query("report_pack_overbooked", asked)),
        rows(Remarked, store.query("report_pack_remarks", asked)),
    )


def policy_at(decisions: Iterable[Decided], at_s: int) -> Policy:
    """The policy in force, field by field the last one decided by then, in the order of the log."""
    found = Policy()
    for decision in decisions:
        if decision.kind == "policy" and decision.decided_s <= at_s:
            said = {m["name"]: m["value"] for m in POLICY_FIELD.finditer(decision.detail)}
            fields: dict[str, Any] = {n: v if n == "ranking" else int(v) for n, v in said.items() if n in found._fields}
            found = found._replace(**fields)
    return found


def window_from_s(policy: Policy, as_of_s: int) -> int:
    """The first hour that counts in a ratio, as the ranking has it: the book keeps none before its horizon.

    With a half-life every kept hour counts, until after 32 of them the weights are nothing.
    """
    reach_h = policy.half_life_h * (WEIGHT_BITS + 1) if policy.ranking == "decay" else policy.window_h
    return max(0, as_of_s - min(reach_h, policy.horizon_h) * HOUR_S)


def _parameters(question: Question) -> dict[str, Value]:
    return {
        "cluster": question.cluster,
        "pool": question.pool,
        "account": question.account,
        "from_s": question.from_s,
        "until_s": question.until_s,
        "known_at_s": LATEST_S if question.known_at_s is None else question.known_at_s,
    }


def rows(kind: type[R], table: Table) -> list[R]:
    """The table's rows as named tuples, whose fields are its columns in order."""
    return [kind._make(row) for row in table.rows]  # type: ignore[attr-defined]
