"""Balanced transactions. One that does not sum to zero cannot be constructed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ledger.rows import Posting

CAPACITY, BUDGET = "capacity", "budget"


class Leg(NamedTuple):
    """Where an amount stands: everything of a posting but hour, cause and amount."""

    pool: str
    book: str
    account: str
    class_: str
    kind: str
    node: str
    run: str


Legs = dict[Leg, int]
"""Signed GPU-milliseconds by leg; sums to zero per pool and book."""


class UnbalancedError(AssertionError):
    """A transaction whose legs do not sum to zero: a fault of the program, which stops the writer."""


def transfer(legs: Legs, pool: str, account: str, kind: str, run: str, amount_gpu_ms: int) -> None:
    """Add a movement between the two sides that `kind` names (accounting §4)."""
    if not amount_gpu_ms:
        return
    giver, taker = _SIDES[kind]
    out = Leg(pool, BUDGET, "" if giver == "pool" else account, giver, kind, "", run)
    legs[out] = legs.get(out, 0) - amount_gpu_ms
    into = Leg(pool, BUDGET, account, taker, kind, "", run)
    legs[into] = legs.get(into, 0) + amount_gpu_ms


_SIDES = {
    "claim": ("pool", "budget"),
    "grant": ("pool", "budget"),
    "charge": ("budget", "spent"),
    "refund": ("spent", "budget"),
}


def difference(after: Mapping[Leg, int], before: Mapping[Leg, int]) -> Legs:
    """What must be posted to get from `before` to `after`."""
    legs = {leg: amount - before.get(leg, 0) for leg, amount in after.items() if amount != before.get(leg, 0)}
    legs.update({leg: -amount for leg, amount in before.items() if amount and leg not in after})
    return legs


def transaction(
    cluster: str, hour_s: int, cause: bytes, legs: Mapping[Leg, int], seq: int, recorded_s: int
) -> list[Posting]:
    """The postings of one cause in one hour; raises UnbalancedError unless its legs sum to zero."""
    if sum(legs.values()):
        msg = f"postings of {cluster} at {hour_s} do not sum to zero: {dict(legs)}"
        raise UnbalancedError(msg)
    return [
        Posting(cluster, pool, hour_s, book, account, class_, kind, node, run, cause, amount, seq, recorded_s)
        for (pool, book, account, class_, kind, node, run), amount in legs.items()
        if amount
    ]
