"""Where everybody stands at the last tick: the ratio ρ of every account, who waits and why. Pure over the state.

Reads POLICY §1's ρ from the closed hours' sums and the open hours so far, and the queue from the jobs' waits.
Docs: docs/ranking.md. What is said after the tick about later instants does not count yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from ledger.charges import pool_stretches, run_lines
from ledger.demand import NO_NODES, placeable
from ledger.hourly import claims_of, grants_of
from ledger.hours import CHARGED, CLAIM, GRANT, REFUNDED
from ledger.jobs import JobFacts
from ledger.queue import Wait
from ledger.ranking import WEIGHT_BITS, Decay, Pending, Ranked, Ratio, Sliding, Weighting, rank, weight
from ledger.runs import (
    INTERRUPTIBLE,
    PROTECTED,
    UNFUNDED,
    DerivedRun,
    funding,
    remaining_contract_s,
)
from ledger.state import Derived, State
from ledger.statements import Terms
from ledger.tree import OWN_PART, lineage
from ledger.units import FOREVER_S, HOUR_S, hour_floor_s

IN_LINE: Final = "in_line"
SLOT_LIMIT: Final = "slot_limit"
HELD: Final = "held"
NOT_ELIGIBLE: Final = "not_eligible"
NO_POOL: Final = "no_pool"
NOT_PLACEABLE: Final = "not_placeable"

REASONS: Final = {
    IN_LINE: "it waits for its place in line",
    UNFUNDED: "no budget pays for it, so it waits behind all funded work",
    SLOT_LIMIT: "its account, or one above, may not run more GPUs at once",
    HELD: "it is held",
    NOT_ELIGIBLE: "it is not to start yet",
    NO_POOL: "it names no GPU type, and the cluster has several or none",
    NOT_PLACEABLE: "no set of healthy nodes could hold it, even if all were free",
}
"""Why a job waits, by name. The first three have a place in line, the others take no part in the ranking."""


class Protection(NamedTuple):
    """A running run's class, and until when it is protected (None: not, or for as long as its pause lasts)."""

    class_: str
    until_s: int | None


class Slots(NamedTuple):
    """What an account with a slot limit runs, milli-GPUs of funded work."""

    account: str
    running_milli: int
    limit_milli: int


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A job that waits at the last tick.

    `pool` is '' where it has none. `ranked` is None for a job that takes no part in the ranking. `reason` is one of
    REASONS; `funding_reason` says why no budget pays ('' where one does). `since_s` is when it entered the queue,
    `eligible_s` when it may start at the earliest, if that is still to come. `slots` are the limits it would exceed.
    """

    pool: str
    job: Pending
    ranked: Ranked | None
    reason: str
    funding_reason: str
    terms: Terms
    since_s: int
    eligible_s: int | None
    slots: tuple[Slots, ...]


# ---------------------------------------------------------------- the ratio


def weighting(state: State) -> Weighting:
    """How the hours count, by the policy in force at the last tick."""
    policy = state.policy_at(state.ticked_s)
    return Decay(policy.half_life_h) if policy.ranking == "decay" else Sliding(policy.window_h)


def standing(state: State, pool: str) -> dict[str, Ratio]:
    """ρ of every account of a pool at the last tick t, by account: leaves, own parts `.`, all above them.

    Over [hour of t − window, t), the open part provisional: claim with grants, delivered = charged − refunded; and
    what running contracts still bind at t. An account's is that of all below it, summed before it is floored.
    With a half-life every kept hour counts; of a window longer than the horizon only the hours still kept.
    Accounts that left the tree stay while something of theirs counts.
    """
    return dict(state.once("standing", pool, lambda: _standing(state, pool)))


def _standing(state: State, pool: str) -> dict[str, Ratio]:
    if not state.ticked_s:
        return {}
    how = weighting(state)
    sums: dict[str, list[int]] = {account: [0, 0, 0] for account in _accounts_at(state, pool)}
    weights = _weights(state, how)
    for account, (used, claim) in _closed(state, pool, how, weights).items():
        sums[account] = [used, 0, claim]
    _add_up(sums, state, pool, [(hour_s, counts) for hour_s, counts in weights if hour_s >= state.closed_until_s])
    for account, committed in commitments(state, pool).items():
        for above in lineage(account):
            sums.setdefault(above, [0, 0, 0])[1] += committed
    shift = WEIGHT_BITS if isinstance(how, Decay) else 0
    return {a: Ratio(sums[a][0] >> shift, sums[a][1], sums[a][2] >> shift) for a in sorted(sums)}


def _add_up(sums: dict[str, list[int]], state: State, pool: str, weights: Iterable[tuple[int, int]]) -> None:
    """Hours by their weights into (used, committed, claim) of each account and all above it."""
    for hour_s, counts in weights:
        for account, claim, used in _hour_lines(state, pool, hour_s):
            for above in lineage(account):
                found = sums.setdefault(above, [0, 0, 0])
                found[0] += used * counts
                found[2] += claim * counts


def _closed(state: State, pool: str, how: Weighting, weights: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """(used, claim) by account over the closed hours that count. Kept: they change by the hour, and are asked often."""
    key = (state.revised, how, hour_floor_s(state.ticked_s), state.closed_until_s, state.kept_from_s)
    known = state.summed.get(pool)
    if known is None or known[0] != key:
        sums: dict[str, list[int]] = {}
        _add_up(sums, state, pool, [(hour_s, counts) for hour_s, counts in weights if hour_s < state.closed_until_s])
        known = state.summed[pool] = (key, {account: (used, claim) for account, (used, _, claim) in sums.items()})
    return known[1]


def commitments(state: State, pool: str) -> dict[str, int]:
    """What the contracts of funded runs running at the last tick still bind, by booked account, GPU-milliseconds."""
    at_s = state.ticked_s
    found: dict[str, int] = {}
    for run in running(state):
        left_s = run.terms.min_runtime_s if run.start_s == at_s else remaining_contract_s(run, at_s)
        if not run.funded or not left_s:
            continue
        for name, _, _, milli in pool_stretches(run, at_s, at_s + 1, state.node_types):
            if name == pool:
                found[run.account] = found.get(run.account, 0) + milli * left_s
    return found


def back_in_time(state: State, pool: str, account: str) -> Iterator[tuple[int, int, int]]:
    """(hours back, delivered, claim) of an account with all below it, summed from the last tick back hour by hour.

    As far as hours are kept, each in full: for tests over a longer window than the one the ratios are of.
    """
    now_s, used, claimed = hour_floor_s(state.ticked_s), 0, 0
    hours = [hour_s for hour_s, _ in _weights(state, Sliding(state.policy_at(state.ticked_s).horizon_h))]
    for hour_s in reversed(hours):
        for name, claim, delivered in _hour_lines(state, pool, hour_s):
            if name == account or name.startswith(f"{account}/"):
                used, claimed = used + delivered, claimed + claim
        yield (now_s - hour_s) // HOUR_S, used, claimed


def _weights(state: State, how: Weighting) -> list[tuple[int, int]]:
    """(hour, weight) of the kept hours up to the last tick that count at all, the open ones last."""
    opens, now_s = state.opens_s, hour_floor_s(state.ticked_s)
    if opens is None:
        return []
    # After 32 half-lives the weight is floored to nothing.
    reach_h = how.half_life_h * (WEIGHT_BITS + 1) if isinstance(how, Decay) else how.window_h
    hours = range(max(state.kept_from_s, now_s - reach_h * HOUR_S), state.ticked_s, HOUR_S)
    if isinstance(how, Decay):
        return [(hour_s, weight((now_s - hour_s) // HOUR_S, how.half_life_h)) for hour_s in hours]
    return [(hour_s, 1) for hour_s in hours]


def _hour_lines(state: State, pool: str, hour_s: int) -> Iterator[tuple[str, int, int]]:
    """(booked account, claim and grants, delivered) of an hour, closed or open so far."""
    if hour_s >= state.closed_until_s:
        lines = state.once("open lines", str(hour_s), lambda: _open_lines(state, hour_s))
        yield from lines.get(pool, ())
        return
    found = state.hours.get(hour_s, {}).get(pool)
    for account, sums in found.accounts.items() if found is not None else ():
        claim, used = sums[CLAIM] + sums[GRANT], sums[CHARGED] - sums[REFUNDED]
        if claim or used:
            yield account, claim, used


def _open_lines(state: State, hour_s: int) -> dict[str, list[tuple[str, int, int]]]:
    """The same lines `ledger.hourly.hour_book` sums, by pool, without the nodes and the demand."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    a_s, b_s = hour_s, min(hour_s + HOUR_S, state.ticked_s)
    for pool, claims in claims_of(state, a_s, b_s).items():
        found[pool] = [(account, amount, 0) for account, amount in claims.items()]
    for pool, account, _, amount in grants_of(state, a_s, b_s):
        found.setdefault(pool, []).append((account, amount, 0))
    for name in list(state.live):
        for run in state.read(name).runs:
            if run.funded and run.start_s < b_s and run.end_s > a_s:
                for pool, what, amount in run_lines(run, a_s, b_s, state.node_types):
                    if what in {CHARGED, REFUNDED}:
                        found.setdefault(pool, []).append((run.account, 0, amount if what == CHARGED else -amount))
    return found


def _accounts_at(state: State, pool: str) -> Iterator[str]:
    """Every account of the tree in force, and every one with a grant in force, with all above them."""
    tree = state.tree_at(pool, state.ticked_s)
    for account in tree.leaves:
        yield from lineage(account)
    for grant in state.grants:
        if grant.pool == pool and grant.in_force(state.ticked_s):
            yield from lineage(tree.own(grant.account))


# ---------------------------------------------------------------- what runs


def running(state: State) -> Iterator[DerivedRun]:
    """The runs that run or are paused at the last tick, in no order that a restart would keep."""
    yield from state.once("running", "", lambda: tuple(_run_now(state)))


def _run_now(state: State) -> Iterator[DerivedRun]:
    at_s = state.ticked_s
    for name in list(state.live):
        for run in state.read(name).runs:
            if run.start_s <= at_s < run.end_s:
                yield run


def protection(run: DerivedRun, at_s: int) -> Protection:
    """The class of a run at an instant inside it; a pause puts its contract off, so it stays what it was."""
    if not run.funded:
        return Protection(UNFUNDED, None)
    if at_s >= run.contract_end_s:
        return Protection(INTERRUPTIBLE, None)
    return Protection(PROTECTED, run.contract_end_s if run.contract_end_s != FOREVER_S else None)


def slots(state: State, pool: str) -> dict[str, Slots]:
    """By account with a slot limit in force: what it and all below it run of funded work at the last tick."""
    return dict(state.once("slots", pool, lambda: _slots(state, pool)))


def _slots(state: State, pool: str) -> dict[str, Slots]:
    at_s = state.ticked_s
    limits = state.tree_at(pool, at_s).slot_limits_milli
    used = dict.fromkeys(limits, 0)
    for run in running(state) if limits else ():
        if run.funded and not any(a <= at_s < b for a, b, _ in run.pauses):
            for name, _, _, milli in pool_stretches(run, at_s, at_s + 1, state.node_types):
                for account in lineage(run.account):
                    if name == pool and account in limits:
                        used[account] += milli
    return {account: Slots(account, used[account], limit) for account, limit in sorted(limits.items())}


# ---------------------------------------------------------------- who waits


def pending(state: State) -> dict[str, list[Pending]]:
    """By pool, the work that could start at the last tick, funded or not, by submit time and id.

    A funded job carries the account it would be booked to, an unfunded one none. Left out is what takes no part in
    the ranking: held, not eligible, not placeable, without a pool.
    """
    found: dict[str, list[Pending]] = {}
    for entry in _entries(state, list(state.live)):
        if entry.reason in {IN_LINE, UNFUNDED}:
            found.setdefault(entry.pool, []).append(entry.job)
    return {pool: sorted(found[pool], key=lambda p: (p.submitted_s, p.job)) for pool in sorted(found)}


def queue(state: State) -> list[QueueEntry]:
    """Everything that waits at the last tick: by pool, first in the order of `rank`, then what takes no part.

    The latter by submit time and id. Jobs without a pool come first, under ''.
    """
    return list(state.once("queue", "", lambda: _queue(state)))


def _queue(state: State) -> list[QueueEntry]:
    entries = list(_entries(state, _maybe_waiting(state)))
    queued: list[QueueEntry] = []
    for pool in sorted({e.pool for e in entries}):
        here = {e.job.job: e for e in entries if e.pool == pool}
        in_line = [e.job for e in here.values() if e.reason in {IN_LINE, UNFUNDED}]
        limits = slots(state, pool)
        ranked = rank(_rankable(state, pool, in_line), in_line)
        queued += [_placed(here.pop(place.job.job), place, limits) for place in ranked]
        queued += sorted(here.values(), key=lambda e: (e.job.submitted_s, e.job.job))
    return queued


def _rankable(state: State, pool: str, jobs: Iterable[Pending]) -> dict[str, Ratio]:
    """ρ for `rank`, which takes an account that has an own part for one with children: leave out parts that were."""
    if not any(job.funded for job in jobs):
        return {}
    interior = state.tree_at(pool, state.ticked_s).interior
    return {
        account: ratio
        for account, ratio in standing(state, pool).items()
        if not account.endswith(f"/{OWN_PART}") or account.removesuffix(f"/{OWN_PART}") in interior
    }


def _placed(entry: QueueEntry, place: Ranked, limits: dict[str, Slots]) -> QueueEntry:
    """The entry with its place, and the slot limits it would exceed by starting now."""
    account = entry.job.account
    over: tuple[Slots, ...] = ()
    if account is not None and limits:
        on_path = [limits[a] for a in lineage(account) if a in limits]
        over = tuple(s for s in on_path if s.running_milli + entry.job.gpus_milli > s.limit_milli)
    return QueueEntry(
        entry.pool,
        entry.job,
        place,
        SLOT_LIMIT if over else entry.reason,
        entry.funding_reason,
        entry.terms,
        entry.since_s,
        entry.eligible_s,
        over,
    )


def _maybe_waiting(state: State) -> Iterator[str]:
    """Jobs that may be in the queue: those the next hour may see, and the held, which no hour sees."""
    yield from list(state.live)
    for name in list(state.maybe_held):
        if name not in state.live and state.jobs[name].terms_at(state.ticked_s).held:
            yield name


class Entered(NamedTuple):
    """A job's entry, which stays as it is until an instant, or until nodes or decisions change."""

    epoch: tuple[int, int, int]
    until_s: int
    entry: QueueEntry


def _entries(state: State, jobs: Iterable[str]) -> Iterator[QueueEntry]:
    epoch = state.epoch_at(state.ticked_s)
    for name in jobs:
        derived = state.read(name)
        since_s = derived.queued_since
        if since_s is None:
            continue
        known: Entered | None = state.entries.get(name)
        if known is not None and known.epoch == epoch and state.ticked_s < known.until_s:
            yield known.entry
            continue
        wait = next((w for w in derived.waits if w.a_s <= state.ticked_s < w.b_s), None)
        if wait is not None:
            entry = _waiting(state, name, wait, since_s)
            state.entries[name] = Entered(epoch, wait.b_s, entry)
            yield entry
            continue
        later = _not_waiting(state, state.jobs[name], derived, since_s)
        if later is not None:
            yield later


def _not_waiting(state: State, facts: JobFacts, derived: Derived, since_s: int) -> QueueEntry | None:
    """A job in the queue that could not start at the last tick; None if it is not in it, or not yet."""
    at_s = state.ticked_s
    if not facts.submitted or facts.submitted[0].at_s > at_s or any(r.start_s <= at_s < r.end_s for r in derived.runs):
        return None
    terms = facts.terms_at(at_s)
    eligible_s = next((w.a_s for w in derived.waits if w.a_s > at_s), None)
    if not terms.held and eligible_s is None:
        return None
    reason = HELD if terms.held else NOT_ELIGIBLE
    wait = Wait(at_s, FOREVER_S, terms, facts.submitted[0].at_s)
    return _made(state, facts.job, wait, reason=reason, since_s=min(since_s, at_s), eligible_s=eligible_s)


def _waiting(state: State, job: str, wait: Wait, since_s: int) -> QueueEntry:
    pool = _pool_of(state, wait.terms)
    if not pool:
        reason = NO_POOL
    elif not placeable(wait.terms, state.health_at(state.ticked_s).get(pool, NO_NODES)):
        reason = NOT_PLACEABLE
    else:
        reason = IN_LINE
    return _made(state, job, wait, reason=reason, since_s=since_s, eligible_s=None)


def _pool_of(state: State, terms: Terms) -> str:
    """The pool the wait counts in: its GPU type, else the only one there is."""
    health = state.health_at(state.ticked_s)
    return terms.gpu_type or (next(iter(health)) if len(health) == 1 else "")


def _made(state: State, job: str, wait: Wait, *, reason: str, since_s: int, eligible_s: int | None) -> QueueEntry:
    terms = wait.terms
    pool = _pool_of(state, terms)
    account, unfunded = funding(terms, (pool,), state.ticked_s, state)
    asked = Pending(
        job=job,
        account=None if unfunded else account,
        priority=terms.priority,
        gpus_milli=terms.gpus_milli,
        min_runtime_s=terms.min_runtime_s,
        submitted_s=wait.submitted_s,
        kind=terms.kind,
    )
    if reason == IN_LINE and unfunded:
        reason = UNFUNDED
    return QueueEntry(pool, asked, None, reason, unfunded, terms, since_s, eligible_s, ())
