"""f: everything one hour of the book holds, from the state (docs/accounting.md §3 to §5). Pure over the state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from ledger.capacity import Occupant, clear
from ledger.charges import pool_stretches, run_lines
from ledger.demand import Asker, admitted, placeable, total
from ledger.hours import (
    CHARGED,
    DEMAND,
    GRANT,
    NODE_FIELD,
    NODE_FIELDS,
    REFUNDED,
    Hour,
    PoolHour,
    Sums,
)
from ledger.nodes import Stretch
from ledger.postings import Legs, transfer
from ledger.queue import Wait
from ledger.runs import UNKNOWN_POOL, DerivedRun, funding
from ledger.state import State
from ledger.units import HOUR_S, hour_floor_s

KIND_OF = {CHARGED: "charge", REFUNDED: "refund"}
"""The fields of a run that are posted."""


@dataclass(slots=True)
class HourBook:
    """One hour: sums per pool, the budget legs, and per node the capacity legs."""

    pools: Hour = field(default_factory=dict)
    budget: Legs = field(default_factory=dict)
    nodes: dict[str, Legs] = field(default_factory=dict)

    def pool(self, name: str) -> PoolHour:
        """The pool's sums."""
        found = self.pools.get(name)
        if found is None:
            found = self.pools[name] = PoolHour()
        return found


def hour_book(state: State, a_s: int, b_s: int, jobs: Iterable[str]) -> HourBook:
    """F over [a, b) (an hour, or its part so far), `jobs` being all that may touch it."""
    book = HourBook()
    occupants: dict[str, list[Occupant]] = {}
    askers: dict[str, list[Asker]] = {}
    for name in jobs:
        derived = state.read(name)
        for run in derived.runs:
            if run.start_s < b_s and run.end_s > a_s:
                _add_run(state, book, run, a_s, b_s, askers)
                for node, occupant in occupants_of(run, a_s, b_s):
                    occupants.setdefault(node, []).append(occupant)
        for wait in derived.waits:
            if wait.a_s >= b_s or wait.b_s <= a_s:
                continue
            for pool, asker in wait_askers(state, name, wait, a_s, b_s):
                askers.setdefault(pool, []).append(asker)
    for pool, asking in askers.items():
        for account, amount in demand_of(state, pool, asking, a_s, b_s).items():
            book.pool(pool).account(account)[DEMAND] += amount
    add_claims(state, book, a_s, b_s)
    for node in state.nodes.keys() | occupants.keys():
        legs = clear(node, stretches_of(state, node, a_s, b_s), occupants.get(node, ()))
        if legs:
            book.nodes[node] = legs
            for pool, sums in node_sums(legs).items():
                add(book.pool(pool).nodes, sums)
    return book


def touching(state: State, hours: Collection[int]) -> dict[int, list[str]]:
    """By hour, the jobs with a run or a wait in it that may be booked there, of hours that follow each other."""
    found: dict[int, list[str]] = {hour_s: [] for hour_s in hours}
    if not found:
        return found
    first_s, until_s = min(found), max(found) + HOUR_S
    for name, derived in state.derived.items():
        spans = [(r.start_s, r.end_s) for r in derived.runs if r.start_s < until_s and r.end_s > first_s]
        # Most hours waited are not funded.
        spans += [(w.a_s, w.b_s) for w in derived.waits if w.a_s < until_s and w.b_s > first_s and w.asks]
        touched: dict[int, None] = {}
        for a_s, b_s in spans:
            touched.update(dict.fromkeys(range(hour_floor_s(max(a_s, first_s)), min(b_s, until_s), HOUR_S)))
        for hour_s in touched:
            found[hour_s].append(name)
    return found


def stretches_of(state: State, node: str, a_s: int, b_s: int) -> list[Stretch]:
    """The node over [a, b); an unknown one has no capacity and no type."""
    known = state.nodes.get(node)
    return known.stretches(a_s, b_s) if known is not None else [Stretch(a_s, b_s, 0, "", "")]


def _add_run(state: State, book: HourBook, run: DerivedRun, a_s: int, b_s: int, askers: dict[str, list[Asker]]) -> None:
    for pool, what, amount in run_lines(run, a_s, b_s, state.node_types):
        book.pool(pool).account(run.account)[what] += amount
        if what in KIND_OF:
            transfer(book.budget, pool, run.account, KIND_OF[what], run.run, amount)
    if run.funded:
        for pool, asker in run_askers(state, run, a_s, b_s):
            askers.setdefault(pool, []).append(asker)


def occupants_of(run: DerivedRun, a_s: int, b_s: int) -> Iterator[tuple[str, Occupant]]:
    """(node, what the run holds on it) within [a, b)."""
    for piece in run.pieces:
        if piece.a_s < b_s and piece.b_s > a_s:
            a, b = max(piece.a_s, a_s), min(piece.b_s, b_s)
            for node, milli, _ in run.placements:
                yield (
                    node,
                    Occupant(a, b, milli, piece.class_, run.account, run.run, run.terms.gpu_type or UNKNOWN_POOL),
                )


def run_askers(state: State, run: DerivedRun, a_s: int, b_s: int) -> Iterator[tuple[str, Asker]]:
    """The demand of a funded run's running pieces, by pool."""
    for piece in run.pieces:
        if piece.class_ == "suspended" or piece.a_s >= b_s or piece.b_s <= a_s:
            continue
        a, b = max(piece.a_s, a_s), min(piece.b_s, b_s)
        for pool, x, y, milli in pool_stretches(run, a, b, state.node_types):
            yield pool, Asker(x, y, milli, run.account, running=True, submitted_s=run.start_s, job=run.job)


def wait_askers(state: State, job: str, wait: Wait, a_s: int, b_s: int) -> Iterator[tuple[str, Asker]]:
    """The demand of a wait within [a, b): funded were it to start, and placeable on healthy nodes."""
    a, b = max(wait.a_s, a_s), min(wait.b_s, b_s)
    terms = wait.terms
    if a >= b or not wait.asks:
        return
    for x, y in state.stretches_of(a, b):
        health = state.health_at(x)
        pool = terms.gpu_type or (next(iter(health)) if len(health) == 1 else "")
        if not pool:
            continue
        account, reason = funding(terms, (pool,), x, state)
        if not reason and pool in health and placeable(terms, health[pool]):
            yield pool, Asker(x, y, terms.gpus_milli, account, running=False, submitted_s=wait.submitted_s, job=job)


def demand_of(state: State, pool: str, askers: list[Asker], a_s: int, b_s: int) -> dict[str, int]:
    """Demand per account of one pool over [a, b), within slot limits."""
    starts = [x for x, _ in state.stretches_of(a_s, b_s)]
    trees = [state.tree_at(pool, x) for x in starts]
    if not any(t.slot_limits_milli for t in trees):
        return total(askers, a_s, b_s)
    free: list[Asker] = []
    limited: list[Asker] = []
    accounts = {asker.account for asker in askers}
    under_limits = {account for account in accounts if any(t.limits_on(account) for t in trees)}
    for asker in askers:
        (limited if asker.account in under_limits else free).append(asker)
    sums = total(free, a_s, b_s)
    cut = admitted(limited, lambda account, at: state.tree_at(pool, at).limits_on(account), a_s, b_s, starts[1:])
    for account, amount in cut.items():
        sums[account] = sums.get(account, 0) + amount
    return sums


def add_claims(state: State, book: HourBook, a_s: int, b_s: int) -> None:
    """Claims of leaves and accruals of grants over [a, b)."""
    for pool, claims in claims_of(state, a_s, b_s).items():
        for account, amount in claims.items():
            book.pool(pool).claim(account, amount)
            transfer(book.budget, pool, account, "claim", "", amount)
    for pool, account, grant, amount in grants_of(state, a_s, b_s):
        book.pool(pool).account(account)[GRANT] += amount
        transfer(book.budget, pool, account, "grant", grant, amount)


def claims_of(state: State, a_s: int, b_s: int) -> dict[str, dict[str, int]]:
    """Pool -> leaf -> claim over [a, b): floor of exact share × healthy integral, leaf by leaf."""
    integrals: dict[str, dict[int, tuple[dict[str, Fraction], int]]] = {}
    for x, y in state.stretches_of(a_s, b_s):
        for pool, health in state.health_at(x).items():
            leaves = state.tree_at(pool, x).leaves
            by_tree = integrals.setdefault(pool, {})
            _, sofar = by_tree.get(id(leaves), (leaves, 0))
            by_tree[id(leaves)] = (leaves, sofar + health.total_milli * (y - x))
    return {pool: _floors(list(by_tree.values())) for pool, by_tree in integrals.items()}


def _floors(parts: list[tuple[dict[str, Fraction], int]]) -> dict[str, int]:
    if len(parts) == 1:
        leaves, integral = parts[0]
        return {
            account: amount
            for account, share in leaves.items()
            if (amount := share.numerator * integral // share.denominator)
        }
    exact: dict[str, Fraction] = {}
    for leaves, integral in parts:
        for account, share in leaves.items():
            exact[account] = exact.get(account, Fraction(0)) + share * integral
    return {account: amount for account, value in exact.items() if (amount := value.__floor__())}


def grants_of(state: State, a_s: int, b_s: int) -> Iterator[tuple[str, str, str, int]]:
    """(pool, account as booked, grant, accrual) over [a, b)."""
    for grant in state.grants:
        amount = grant.accrued_gpu_ms(a_s, b_s)
        if amount:
            yield grant.pool, state.tree_at(grant.pool, a_s).own(grant.account), grant.id, amount


def node_sums(legs: Legs) -> dict[str, Sums]:
    """Capacity legs of a node-hour as positive sums per pool, in the order of NODE_FIELDS."""
    found: dict[str, Sums] = {}
    for leg, amount in legs.items():
        sums = found.get(leg.pool)
        if sums is None:
            sums = found[leg.pool] = [0] * len(NODE_FIELDS)
        name = leg.class_ if leg.kind in {"occupied", "unavailable"} else leg.kind
        sums[NODE_FIELD[name]] += -amount if leg.kind in {"capacity", "overbooked"} else amount
    return found


def add(sums: Sums, more: Sums) -> None:
    """Sums += more."""
    for place, amount in enumerate(more):
        sums[place] += amount
