"""What a late event changes of hours already closed: f(after) − f(before), from narrow to wide.

`correct_job` (one job's reading), `correct_node` (one node's health), `correct_claims` (shares, grants, policy),
`correct_hours` (anything: whole hours compared). Each brings the sums of `state.hours` up to date and gathers what
must be written in a Change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ledger.capacity import Occupant, clear
from ledger.change import Change
from ledger.charges import run_lines
from ledger.demand import Asker
from ledger.hourly import (
    KIND_OF,
    HourBook,
    add,
    claims_of,
    demand_of,
    grants_of,
    hour_book,
    node_sums,
    occupants_of,
    run_askers,
    stretches_of,
    touching,
    wait_askers,
)
from ledger.hours import CLAIM, DEMAND, FIELDS, GRANT, PoolHour
from ledger.nodes import Node, Stretch
from ledger.postings import Legs, difference, transfer
from ledger.runs import DerivedRun
from ledger.state import NOTHING, Derived, State
from ledger.units import HOUR_S


def pool_hour(state: State, hour_s: int, pool: str) -> PoolHour:
    """The sums of a pool's closed hour."""
    pools = state.hours.setdefault(hour_s, {})
    found = pools.get(pool)
    if found is None:
        found = pools[pool] = PoolHour()
    return found


# -- one job


def changed_span(old: Derived, new: Derived) -> tuple[int, int]:
    """[from, until) outside which two readings of a job book alike; (0, 0) when they do everywhere.

    A second early, because what happens on the hour changes the commitment at the end of the hour before.
    """
    before = {r.attempt: r for r in old.runs}
    after = {r.attempt: r for r in new.runs}
    spans = [_run_span(before.get(name), after.get(name)) for name in before | after]
    if old.waits != new.waits:
        spans.append(_wait_span(old, new))
    spans = [s for s in spans if s[0] < s[1]]
    return (min(s[0] for s in spans) - 1, max(s[1] for s in spans)) if spans else (0, 0)


def _run_span(old: DerivedRun | None, new: DerivedRun | None) -> tuple[int, int]:
    if old == new:
        return (0, 0)
    if old is None or new is None:
        only = old or new
        assert only is not None
        return only.start_s, only.end_s
    begin = min(old.start_s, new.start_s)
    if _booked_alike(old, new):
        begin = _first_difference(old, new)
    return begin, max(old.end_s, new.end_s)


def _booked_alike(old: DerivedRun, new: DerivedRun) -> bool:
    """Whether two readings differ in when, not in what is booked to whom."""
    return (
        old.start_s == new.start_s
        and old.account == new.account
        and old.funded == new.funded
        and old.placements == new.placements
        and old.pools == new.pools
        and old.terms.min_runtime_s == new.terms.min_runtime_s
        and old.terms.gpu_type == new.terms.gpu_type
    )


def _first_difference(old: DerivedRun, new: DerivedRun) -> int:
    at = min(old.end_s, new.end_s)
    for a, b in zip(old.pieces, new.pieces, strict=False):
        if a != b:
            same_begin = a.a_s == b.a_s and a.class_ == b.class_
            at = min(at, a.b_s, b.b_s) if same_begin else min(at, a.a_s, b.a_s)
            break
    if old.pauses != new.pauses:
        at = min(at, *(p[0] for p in set(old.pauses) ^ set(new.pauses)))
    if old.refund_from_s != new.refund_from_s or old.end_s != new.end_s:
        at = min(at, old.refund_from_s, new.refund_from_s)
    return at


def _wait_span(old: Derived, new: Derived) -> tuple[int, int]:
    differing = set(old.waits) ^ set(new.waits)
    begin = min(w.a_s for w in differing)
    if old.waits and new.waits and old.waits[:-1] == new.waits[:-1]:
        before, after = old.waits[-1], new.waits[-1]
        if before._replace(b_s=0) == after._replace(b_s=0):
            begin = min(before.b_s, after.b_s)
    return begin, max(w.b_s for w in differing)


def correct_job(state: State, change: Change, job: str, old: Derived, *, demand: bool = True) -> tuple[int, int]:
    """Book the job as it now reads instead of as `old`, in every closed hour where the two differ.

    Returns the span in which they do, closed or not.

    Other jobs are taken as they are read at the moment, so several must be corrected one after the other.
    """
    new = state.derived[job]
    span = changed_span(old, new)
    for hour_s in state.closed_hours(*span):
        _correct_lines(state, change, hour_s, old, new)
        if demand:
            _correct_demand(state, change, hour_s, job, old, new)
        _correct_nodes(state, change, hour_s, job, old, new)
    return span


def _inside(derived: Derived, a_s: int, b_s: int) -> list[DerivedRun]:
    return [r for r in derived.runs if r.start_s < b_s and r.end_s > a_s]


def _correct_lines(state: State, change: Change, hour_s: int, old: Derived, new: Derived) -> None:
    until_s = hour_s + HOUR_S
    sums: dict[tuple[str, str, int], int] = {}
    legs: Legs = {}
    for sign, derived in ((-1, old), (1, new)):
        for run in _inside(derived, hour_s, until_s):
            for pool, what, amount in run_lines(run, hour_s, until_s, state.node_types):
                key = (pool, run.account, what)
                sums[key] = sums.get(key, 0) + sign * amount
                if what in KIND_OF:
                    transfer(legs, pool, run.account, KIND_OF[what], run.run, sign * amount)
    change.add_legs(hour_s, legs)
    for (pool, account, what), amount in sums.items():
        if amount:
            pool_hour(state, hour_s, pool).account(account)[what] += amount
            change.touch_account(hour_s, pool, account)


def _askers(state: State, job: str, derived: Derived, a_s: int, b_s: int) -> Iterable[tuple[str, Asker]]:
    for run in _inside(derived, a_s, b_s):
        if run.funded:
            yield from run_askers(state, run, a_s, b_s)
    for wait in derived.waits:
        yield from wait_askers(state, job, wait, a_s, b_s)


def _correct_demand(state: State, change: Change, hour_s: int, job: str, old: Derived, new: Derived) -> None:
    until_s = hour_s + HOUR_S
    before = list(_askers(state, job, old, hour_s, until_s))
    after = list(_askers(state, job, new, hour_s, until_s))
    if before == after:
        return
    sums: dict[tuple[str, str], int] = {}
    limited: dict[str, None] = {}
    for sign, askers in ((-1, before), (1, after)):
        for pool, asker in askers:
            if any(state.tree_at(pool, x).limits_on(asker.account) for x, _ in state.stretches_of(hour_s, until_s)):
                limited[pool] = None
            amount = sign * asker.milli * (asker.b_s - asker.a_s)
            sums[pool, asker.account] = sums.get((pool, asker.account), 0) + amount
    for pool in limited:
        _set_demand(state, change, hour_s, touching(state, [hour_s])[hour_s], {pool})
    for (pool, account), amount in sums.items():
        if amount and pool not in limited:
            pool_hour(state, hour_s, pool).account(account)[DEMAND] += amount
            change.touch_account(hour_s, pool, account)


def _set_demand(state: State, change: Change, hour_s: int, jobs: Iterable[str], pools: set[str] | None = None) -> None:
    """Compute the demand of whole pools (None: of all) anew: limits or health make one job's depend on others'.

    `jobs` are all that may touch the hour.
    """
    until_s = hour_s + HOUR_S
    asking: dict[str, list[Asker]] = {}
    for name in jobs:
        for pool, asker in _askers(state, name, state.derived.get(name, NOTHING), hour_s, until_s):
            asking.setdefault(pool, []).append(asker)
    for pool in asking.keys() | state.hours.get(hour_s, {}).keys():
        if pools is not None and pool not in pools:
            continue
        found = pool_hour(state, hour_s, pool)
        wanted = demand_of(state, pool, asking.get(pool, []), hour_s, until_s)
        for account in wanted.keys() | found.accounts.keys():
            amount = wanted.get(account, 0)
            if amount != found.account(account)[DEMAND]:
                found.account(account)[DEMAND] = amount
                change.touch_account(hour_s, pool, account)


def _held(derived: Derived, node: str, a_s: int, b_s: int) -> list[Occupant]:
    return [o for run in _inside(derived, a_s, b_s) for on, o in occupants_of(run, a_s, b_s) if on == node]


def _correct_nodes(state: State, change: Change, hour_s: int, job: str, old: Derived, new: Derived) -> None:
    until_s = hour_s + HOUR_S
    before = _by_node(old, hour_s, until_s)
    after = _by_node(new, hour_s, until_s)
    for node in before | after:
        if before.get(node) == after.get(node):
            continue
        others = [
            o
            for name in state.on_node(node, hour_s, until_s)
            if name != job
            for o in _held(state.derived[name], node, hour_s, until_s)
        ]
        stretches = stretches_of(state, node, hour_s, until_s)
        was = clear(node, stretches, others + before.get(node, []))
        now = clear(node, stretches, others + after.get(node, []))
        _node_reads(state, change, hour_s, node, was, now)


def _by_node(derived: Derived, a_s: int, b_s: int) -> dict[str, list[Occupant]]:
    found: dict[str, list[Occupant]] = {}
    for run in _inside(derived, a_s, b_s):
        for node, occupant in occupants_of(run, a_s, b_s):
            found.setdefault(node, []).append(occupant)
    return found


def _node_reads(state: State, change: Change, hour_s: int, node: str, was: Legs, now: Legs) -> None:
    if was == now:
        return
    change.add_legs(hour_s, difference(now, was))
    before, after = node_sums(was), node_sums(now)
    for pool, sums in before.items():
        add(pool_hour(state, hour_s, pool).nodes, [-amount for amount in sums])
    for pool, sums in after.items():
        add(pool_hour(state, hour_s, pool).nodes, sums)
    change.touch_node(hour_s, node, before, after)


# -- one node, claims, whole hours


def correct_node(state: State, change: Change, old: Node, hours: Collection[int]) -> None:
    """A node whose health or size changed, in no other pool for any run; `old` is the node as it was."""
    for hour_s, jobs in touching(state, hours).items():
        until_s = hour_s + HOUR_S
        held = [
            o
            for name in state.on_node(old.name, hour_s, until_s)
            for o in _held(state.derived[name], old.name, hour_s, until_s)
        ]
        before = old.stretches(hour_s, until_s) if old.statements else [Stretch(hour_s, until_s, 0, "", "")]
        was = clear(old.name, before, held)
        now = clear(old.name, stretches_of(state, old.name, hour_s, until_s), held)
        _node_reads(state, change, hour_s, old.name, was, now)
        _set_claims(state, change, hour_s)
        _set_demand(state, change, hour_s, jobs)


Grants = dict[tuple[str, str, str], int]
"""Accrual of an hour by (pool, account as booked, grant)."""


def grants_in(state: State, hours: Iterable[int]) -> dict[int, Grants]:
    """What grants accrue in each hour as the state now has it."""
    found: dict[int, Grants] = {}
    for hour_s in hours:
        sums = found[hour_s] = {}
        for pool, account, grant, amount in grants_of(state, hour_s, hour_s + HOUR_S):
            key = (pool, account, grant)  # two sources may have made a grant each under one id
            sums[key] = sums.get(key, 0) + amount
    return found


def correct_claims(state: State, change: Change, before: dict[int, Grants]) -> None:
    """Claims, grants and demand of hours in which shares, grants or policy changed; `before` as `grants_in` told."""
    for hour_s, jobs in touching(state, before).items():
        _set_claims(state, change, hour_s)
        _set_grants(state, change, hour_s, before[hour_s])
        _set_demand(state, change, hour_s, jobs)


def _set_claims(state: State, change: Change, hour_s: int) -> None:
    wanted = claims_of(state, hour_s, hour_s + HOUR_S)
    for pool in wanted.keys() | state.hours.get(hour_s, {}).keys():
        found = pool_hour(state, hour_s, pool)
        claims = wanted.get(pool, {})
        for account in claims.keys() | found.accounts.keys():
            more = claims.get(account, 0) - found.account(account)[CLAIM]
            if more:
                found.claim(account, more)
                legs: Legs = {}
                transfer(legs, pool, account, "claim", "", more)
                change.add_legs(hour_s, legs)
                change.touch_account(hour_s, pool, account)


def _set_grants(state: State, change: Change, hour_s: int, before: Grants) -> None:
    """Grants only come, or move with their account; each is posted under its own id."""
    wanted = grants_in(state, [hour_s])[hour_s]
    for key in wanted.keys() | before.keys():
        pool, account, grant = key
        more = wanted.get(key, 0) - before.get(key, 0)
        if more:
            legs: Legs = {}
            transfer(legs, pool, account, "grant", grant, more)
            change.add_legs(hour_s, legs)
            pool_hour(state, hour_s, pool).account(account)[GRANT] += more
            change.touch_account(hour_s, pool, account)


def correct_hours(state: State, change: Change, before: dict[int, HourBook]) -> None:
    """Whole hours computed again and compared with what they were."""
    for hour_s, jobs in touching(state, before).items():
        old, new = before[hour_s], hour_book(state, hour_s, hour_s + HOUR_S, jobs)
        change.add_legs(hour_s, difference(new.budget, old.budget))
        for node in old.nodes.keys() | new.nodes.keys():
            was, now = old.nodes.get(node, {}), new.nodes.get(node, {})
            if was != now:
                change.add_legs(hour_s, difference(now, was))
                change.touch_node(hour_s, node, node_sums(was), node_sums(now))
        for pool in old.pools.keys() | new.pools.keys():
            _compare_accounts(change, hour_s, pool, old.pool(pool), new.pool(pool))
        state.hours[hour_s] = new.pools


def _compare_accounts(change: Change, hour_s: int, pool: str, old: PoolHour, new: PoolHour) -> None:
    nothing = [0] * FIELDS
    for account in old.accounts.keys() | new.accounts.keys():
        if old.accounts.get(account, nothing) != new.accounts.get(account, nothing):
            change.touch_account(hour_s, pool, account)


def whole_hours(state: State, hours: Collection[int]) -> dict[int, HourBook]:
    """F of hours as the state now has it, to be compared later."""
    return {h: hour_book(state, h, h + HOUR_S, jobs) for h, jobs in touching(state, hours).items()}
