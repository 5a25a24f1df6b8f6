"""The capacity book of one node over one hour (docs/accounting.md §3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ledger.nodes import Stretch
from ledger.postings import CAPACITY, Leg, Legs


class Occupant(NamedTuple):
    """milli-GPUs a run holds on a node over [a, b) in one class. `pool` is where the node's own type is unknown."""

    a_s: int
    b_s: int
    milli: int
    class_: str
    account: str
    run: str
    pool: str


def clear(node: str, stretches: Sequence[Stretch], occupants: Sequence[Occupant]) -> Legs:
    """Signed legs of the node over the hour its stretches cover; they sum to zero per pool.

    Per instant: capacity + overbooked = occupied + (idle or unavailable). Occupied wins over unavailable wins
    over idle; what runs hold beyond the capacity is overbooked, never hidden.
    """
    legs: Legs = {}
    for stretch in stretches:
        inside = [o for o in occupants if o.a_s < stretch.b_s and o.b_s > stretch.a_s]
        if sum(o.milli for o in inside) <= stretch.gpus_milli:
            _fits(node, stretch, inside, legs)
        else:
            _swept(node, stretch, inside, legs)
    return legs


def _add(legs: Legs, leg: Leg, amount: int) -> None:
    if amount:
        legs[leg] = legs.get(leg, 0) + amount


def _occupy(node: str, stretch: Stretch, inside: Sequence[Occupant], legs: Legs) -> int:
    occupied = 0
    for o in inside:
        amount = o.milli * (min(o.b_s, stretch.b_s) - max(o.a_s, stretch.a_s))
        occupied += amount
        leg = Leg(stretch.gpu_type or o.pool, CAPACITY, o.account, o.class_, "occupied", node, o.run)
        legs[leg] = legs.get(leg, 0) + amount
    return occupied


def _free(node: str, stretch: Stretch, amount: int, legs: Legs) -> None:
    kind, class_ = ("idle", "") if stretch.state == "available" else ("unavailable", stretch.unavailability)
    _add(legs, Leg(stretch.gpu_type, CAPACITY, "", class_, kind, node, ""), amount)


def _fits(node: str, stretch: Stretch, inside: Sequence[Occupant], legs: Legs) -> None:
    """All occupants fit at once, so no instant needs a look of its own."""
    whole = stretch.gpus_milli * (stretch.b_s - stretch.a_s)
    if not whole:
        return
    occupied = _occupy(node, stretch, inside, legs)
    _add(legs, Leg(stretch.gpu_type, CAPACITY, "", "", "capacity", node, ""), -whole)
    _free(node, stretch, whole - occupied, legs)


def _swept(node: str, stretch: Stretch, inside: Sequence[Occupant], legs: Legs) -> None:
    """Occupants may exceed the capacity at some instant: cut at every edge and look."""
    _occupy(node, stretch, inside, legs)
    capacity = stretch.gpus_milli
    _add(
        legs,
        Leg(stretch.gpu_type, CAPACITY, "", "", "capacity", node, ""),
        -capacity * (stretch.b_s - stretch.a_s),
    )
    changes: dict[tuple[int, str], int] = {}
    for o in inside:
        pool = stretch.gpu_type or o.pool
        begin, until = (max(o.a_s, stretch.a_s), pool), (min(o.b_s, stretch.b_s), pool)
        changes[begin] = changes.get(begin, 0) + o.milli
        changes[until] = changes.get(until, 0) - o.milli
    for pool in {pool for _, pool in changes}:
        _sweep(node, stretch, pool, {at: milli for (at, p), milli in changes.items() if p == pool}, legs)


def _sweep(node: str, stretch: Stretch, pool: str, changes: dict[int, int], legs: Legs) -> None:
    free = over = held = 0
    at = stretch.a_s
    for edge in (*sorted(changes), stretch.b_s):
        gap = stretch.gpus_milli - held
        if gap >= 0:
            free += gap * (edge - at)
        else:
            over -= gap * (edge - at)
        held += changes.get(edge, 0)
        at = edge
    _free(node, stretch, free, legs)
    _add(legs, Leg(pool, CAPACITY, "", "", "overbooked", node, ""), -over)
