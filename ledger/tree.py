"""Shares: revisions of who divides what, and the exact claim share of every account at an instant."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

EVERY_POOL = "*"
OWN_PART = "."


class ChildShare(NamedTuple):
    """One child: percent as exact text, slot limit in milli-GPUs if any."""

    child: str
    percent: str
    slot_limit_milli: int | None


class Revision(NamedTuple):
    """An accepted set of a parent's children, in force from `effective_s` until a higher revision is."""

    revision: int
    effective_s: int
    children: tuple[ChildShare, ...]


@dataclass(frozen=True, slots=True)
class ShareTree:
    """The tree of one pool at an instant: exact share of the whole per leaf, limits per account.

    `leaves` holds every account of the tree without children and the own part `.` of every other; `interior` all
    parents of a set in force, in the tree or not.
    """

    leaves: dict[str, Fraction]
    interior: frozenset[str]
    slot_limits_milli: dict[str, int]

    def own(self, account: str) -> str:
        """Where an account's own work is booked: itself, or its part `.` if it has children."""
        return f"{account}/{OWN_PART}" if account in self.interior else account

    def limits_on(self, account: str) -> tuple[tuple[str, int], ...]:
        """The limited accounts on a path, root first."""
        if not self.slot_limits_milli:
            return ()
        return tuple((a, self.slot_limits_milli[a]) for a in lineage(account) if a in self.slot_limits_milli)


EMPTY_TREE = ShareTree({}, frozenset(), {})


@lru_cache(maxsize=65_536)
def lineage(account: str) -> tuple[str, ...]:
    """An account's ancestors and itself, root first: lab, lab/program, lab/program/project."""
    parts = account.split("/")
    return tuple("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


@dataclass(slots=True)
class Shares:
    """All accepted revisions of one cluster, by (pool or `*`, parent); `edges` are their instants, ascending."""

    revisions: dict[tuple[str, str], list[Revision]] = field(default_factory=dict)
    root: str = ""
    _trees: dict[tuple[str, int], ShareTree] = field(default_factory=dict)
    edges: list[int] = field(default_factory=list)

    def revision(self, pool: str, parent: str) -> int:
        """The revision an author must have seen to set the next one; 0 before the first."""
        known = self.revisions.get((pool, parent))
        return known[-1].revision if known else 0

    def knows(self, account: str) -> bool:
        """Whether the account is the root or a child in any accepted set."""
        if account == self.root:
            return True
        parent, _, child = account.rpartition("/")
        return any(
            c.child == child
            for (_, owner), known in self.revisions.items()
            if owner == parent
            for revision in known
            for c in revision.children
        )

    def put(self, pool: str, parent: str, revision: Revision) -> None:
        """Append an accepted revision."""
        if not self.root:
            self.root = parent.partition("/")[0]
        self.revisions.setdefault((pool, parent), []).append(revision)
        self._trees.clear()
        self.edges = sorted({r.effective_s for known in self.revisions.values() for r in known})

    def tree_at(self, pool: str, at_s: int) -> ShareTree:
        """The tree of a pool in force at an instant."""
        place = bisect_right(self.edges, at_s)
        edge = self.edges[place - 1] if place else -1
        found = self._trees.get((pool, edge))
        if found is None:
            found = self._trees[(pool, edge)] = self._build(pool, at_s)
        return found

    def _in_force(self, pool: str, parent: str, at_s: int) -> Revision | None:
        for scope in (pool, EVERY_POOL):
            for revision in reversed(self.revisions.get((scope, parent), ())):
                if revision.effective_s <= at_s:
                    return revision
        return None

    def _build(self, pool: str, at_s: int) -> ShareTree:
        leaves: dict[str, Fraction] = {}
        parents = {parent for scope, parent in self.revisions if scope in {pool, EVERY_POOL}}
        interior = {parent for parent in parents if self._in_force(pool, parent, at_s) is not None}
        limits = self._limits(pool, interior, at_s)
        todo = [(self.root, Fraction(1))] if self.root in interior else []
        while todo:
            account, share = todo.pop()
            found = self._in_force(pool, account, at_s)
            if found is None or account.endswith(f"/{OWN_PART}"):
                leaves[account] = share
                continue
            rest = Fraction(100)
            named_own = False
            for child in found.children:
                percent = Fraction(Decimal(child.percent))
                rest -= percent
                path = f"{account}/{child.child}"
                named_own = named_own or child.child == OWN_PART
                todo.append((path, share * percent / 100))
            if not named_own:
                leaves[f"{account}/{OWN_PART}"] = share * rest / 100
        return ShareTree(leaves, frozenset(interior), limits)

    def _limits(self, pool: str, parents: set[str], at_s: int) -> dict[str, int]:
        return {
            f"{parent}/{child.child}": child.slot_limit_milli
            for parent in parents
            if (found := self._in_force(pool, parent, at_s)) is not None
            for child in found.children
            if child.slot_limit_milli is not None
        }

    def records(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """(key, canonical record) of each (pool, parent)."""
        for (pool, parent), known in self.revisions.items():
            yield f"{pool}\0{parent}", ("shares", pool, parent, known)


@dataclass(slots=True)
class Grant:
    """Extra GPU time accruing evenly over [since, until)."""

    id: str
    pool: str
    account: str
    amount_gpu_ms: int
    since_s: int
    until_s: int

    def accrued_gpu_ms(self, a_s: int, b_s: int) -> int:
        """What accrues in [a, b): telescoping floors, so that the parts add up to the whole amount exactly."""
        return self._by(b_s) - self._by(a_s)

    def _by(self, at_s: int) -> int:
        elapsed = min(max(at_s, self.since_s), self.until_s) - self.since_s
        return self.amount_gpu_ms * elapsed // (self.until_s - self.since_s)

    def in_force(self, at_s: int) -> bool:
        """Whether an instant lies inside [since, until)."""
        return self.since_s <= at_s < self.until_s

    def record(self) -> tuple[object, ...]:
        """Canonical record."""
        return ("grant", self.id, self.pool, self.account, self.amount_gpu_ms, self.since_s, self.until_s)
