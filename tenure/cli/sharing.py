"""A set of shares before it is decided: what each child would gain or lose. Pure."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

from ledger.events.decisions import ChildShare
from ledger.state import State
from ledger.tree import EVERY_POOL, OWN_PART, Revision, Shares, lineage
from ledger.tree import ChildShare as Kept
from ledger.units import DAY_S, GPU_MILLI
from tenure.cli.exits import Stop

WHOLE = Decimal(100)
NO_LIMIT = "none"


class Change(NamedTuple):
    """A child's part before and after, percent of its parent, and its GPU time a day in every pool it is of."""

    child: str
    before_percent: Decimal | None
    after_percent: Decimal | None
    slot_limit_milli: int | None
    before_gpu_ms: dict[str, int]
    after_gpu_ms: dict[str, int]


@dataclass(frozen=True, slots=True)
class Preview:
    """The revision that would be made of `parent`'s shares, and what it changes."""

    parent: str
    pool: str
    revision: int
    children: tuple[ChildShare, ...]
    changes: list[Change]

    @property
    def total_percent(self) -> Decimal:
        """What the named children have together."""
        return sum((c.share_percent for c in self.children), Decimal(0))


def latest(state: State, pool: str, parent: str) -> Revision | None:
    """The last accepted set of the parent's children, in force or yet to come."""
    known = state.shares.revisions.get((pool or EVERY_POOL, parent))
    return known[-1] if known else None


def wanted(before: Revision | None, named: list[str], removed: list[str]) -> tuple[ChildShare, ...]:
    """The whole set: children named as `child=percent[/gpus]`, the others as they are, without the removed.

    A child named without GPUs keeps its slot limit; `/none` takes it away.
    """
    found = {c.child: _child(c) for c in before.children} if before is not None else {}
    for name in removed:
        if found.pop(name, None) is None:
            raise Stop(f"{name} has no share there, so it cannot be removed")
    for text in named:
        name = text.partition("=")[0]
        found[name] = _parsed(text, found[name].slot_limit_milli if name in found else None)
    return tuple(found[name] for name in sorted(found))


def _child(kept: Kept) -> ChildShare:
    return ChildShare(child=kept.child, share_percent=Decimal(kept.percent), slot_limit_milli=kept.slot_limit_milli)


def _parsed(text: str, limit_milli: int | None) -> ChildShare:
    name, _, rest = text.partition("=")
    percent, slash, limit = rest.partition("/")
    try:
        if slash:
            limit_milli = None if limit == NO_LIMIT else int(Decimal(limit) * GPU_MILLI)
        return ChildShare(child=name, share_percent=Decimal(percent), slot_limit_milli=limit_milli)
    except (InvalidOperation, ValueError) as wrong:
        raise Stop(
            f"{text!r} is no share: write CHILD=PERCENT, or CHILD=PERCENT/GPUS with a slot limit, such as vision=30/64"
        ) from wrong


def preview(state: State, pool: str, parent: str, children: tuple[ChildShare, ...], from_s: int) -> Preview:
    """What the set would change from an instant on, at today's healthy capacity."""
    before = latest(state, pool, parent)
    number = before.revision if before is not None else 0
    after = deepcopy(state.shares)
    kept = tuple(Kept(c.child, str(c.share_percent), c.slot_limit_milli) for c in children)
    after.put(pool or EVERY_POOL, parent, Revision(number + 1, from_s, kept))
    percents = {c.child: Decimal(c.percent) for c in before.children} if before is not None else {}
    then = {c.child: c.share_percent for c in children}
    names = sorted(percents.keys() | then.keys() | {OWN_PART})
    changes = []
    for name in names:
        account = f"{parent}/{name}"
        was, will = daily(state, state.shares, account, from_s), daily(state, after, account, from_s)
        limit = next((c.slot_limit_milli for c in children if c.child == name), None)
        changes.append(Change(name, percents.get(name), then.get(name), limit, was, will))
    return Preview(parent, pool, number + 1, children, changes)


def daily(state: State, shares: Shares, account: str, at_s: int) -> dict[str, int]:
    """By pool, the account's claim on a day of the capacity that is healthy at the last tick, GPU-milliseconds."""
    found = {}
    for pool, health in sorted(state.health_at(state.ticked_s).items()):
        part = share_of(shares, pool, account, at_s)
        found[pool] = int(part * health.total_milli * DAY_S)
    return found


def share_of(shares: Shares, pool: str, account: str, at_s: int) -> Fraction:
    """The account's exact part of the whole: that of all leaves below it."""
    leaves = shares.tree_at(pool, at_s).leaves
    return sum((part for leaf, part in leaves.items() if account in lineage(leaf)), Fraction(0))


# ---------------------------------------------------------------- what is in force


class Part(NamedTuple):
    """An account of the tree: by pool its percent of the parent, its exact part of the whole, and that a day."""

    account: str
    percent: dict[str, str | None]
    of_all: dict[str, Fraction]
    daily_gpu_ms: dict[str, int]
    slot_limit_milli: int | None
    revision: int | None
    effective_s: int | None


def parts(state: State) -> list[Part]:
    """Every account of the tree in force at the last tick, unordered."""
    at_s = state.ticked_s
    pools = sorted(state.health_at(at_s))
    accounts = {a for pool in pools for leaf in state.tree_at(pool, at_s).leaves for a in lineage(leaf)}
    return [_part(state, account, pools) for account in accounts]


def _part(state: State, account: str, pools: list[str]) -> Part:
    at_s = state.ticked_s
    parent, _, child = account.rpartition("/")
    sets = {pool: in_force(state.shares, pool, parent, at_s) for pool in pools}
    named = {pool: _named(revision, child) for pool, revision in sets.items()}
    known = [revision for revision in sets.values() if revision is not None]
    newest = max(known, key=lambda r: (r.effective_s, r.revision), default=None)
    return Part(
        account,
        {pool: kept.percent if kept is not None else None for pool, kept in named.items()},
        {pool: share_of(state.shares, pool, account, at_s) for pool in pools},
        daily(state, state.shares, account, at_s),
        next((kept.slot_limit_milli for kept in named.values() if kept is not None), None),
        newest.revision if newest is not None else None,
        newest.effective_s if newest is not None else None,
    )


def in_force(shares: Shares, pool: str, parent: str, at_s: int) -> Revision | None:
    """The parent's set in force: of the pool's own sets if any is, else of those for every pool."""
    for scope in (pool, EVERY_POOL):
        for revision in reversed(shares.revisions.get((scope, parent), ())):
            if revision.effective_s <= at_s:
                return revision
    return None


def _named(revision: Revision | None, child: str) -> Kept | None:
    return next((c for c in revision.children if c.child == child), None) if revision is not None else None
