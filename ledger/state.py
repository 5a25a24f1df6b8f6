"""The state of one cluster's fold: the facts, and what is cached of them to find things fast.

Everything but the facts can be computed again from the facts; `ledger.facts` does so after a restart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, cast

from ledger.acts import Acts
from ledger.demand import NO_NODES, Health
from ledger.hours import Hour
from ledger.jobs import JobFacts
from ledger.nodes import Node
from ledger.policy import Policies, Policy
from ledger.queue import Wait, queued, waits
from ledger.runs import DerivedRun, derive
from ledger.statements import NodeStatement
from ledger.tree import Grant, Shares, ShareTree
from ledger.units import DAY_S, FOREVER_S, HOUR_S, hour_floor_s
from ledger.windows import Window

CLOSING_S = 300
"""An hour is closed once its end + 5 min is at or before the watermark."""

_NO_END = -1
T = TypeVar("T")


class Derived(NamedTuple):
    """A job as booked: its runs, its waits, and the stretches [from, until) in which it is in the queue."""

    runs: tuple[DerivedRun, ...]
    waits: tuple[Wait, ...]
    queued: tuple[tuple[int, int], ...]

    @property
    def queued_since(self) -> int | None:
        """Since when the job is in the queue; None if it is not."""
        spans = self.queued
        return spans[-1][0] if spans and spans[-1][1] == FOREVER_S else None


NOTHING = Derived((), (), ())


@dataclass(slots=True)
class State:
    """Facts first, caches after.

    `revised` counts changes of closed hours, for those who sum them; `turned` changes of nodes and decisions.
    `entries` are `ledger.standing`'s, of jobs that were not read again since.
    """

    cluster: str
    seq: int = 0
    recorded_s: int = 0
    ticked_s: int = 0
    horizon_s: int = 0
    first_node_s: int | None = None
    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: dict[str, JobFacts] = field(default_factory=dict)
    shares: Shares = field(default_factory=Shares)
    grants: list[Grant] = field(default_factory=list)
    policies: Policies = field(default_factory=Policies)
    windows: dict[str, Window] = field(default_factory=dict)
    decided: dict[tuple[str, str], int] = field(default_factory=dict)
    acts: Acts = field(default_factory=Acts)

    revised: int = 0
    derived: dict[str, Derived] = field(default_factory=dict)
    stale: dict[str, None] = field(default_factory=dict)
    live: dict[str, None] = field(default_factory=dict)
    maybe_held: dict[str, None] = field(default_factory=dict)
    hours: dict[int, Hour] = field(default_factory=dict)
    summed: dict[str, tuple[object, dict[str, tuple[int, int]]]] = field(default_factory=dict)
    _asked: dict[tuple[str, str], Any] = field(default_factory=dict)
    _asked_at: tuple[int, int] = (0, 0)
    entries: dict[str, Any] = field(default_factory=dict)
    turned: int = 0
    node_edges: list[int] = field(default_factory=list)
    decision_edges: list[int] = field(default_factory=list)
    _on_node: dict[str, dict[int, dict[str, None]]] = field(default_factory=dict)
    _health: dict[int, dict[str, Health]] = field(default_factory=dict)
    _types: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)

    @property
    def closed_until_s(self) -> int:
        """Every hour before it is closed."""
        return hour_floor_s(self.ticked_s - CLOSING_S)

    @property
    def opens_s(self) -> int | None:
        """Where the book begins: by policy, else at the earliest node statement's hour."""
        if self.policies.opens_s is not None:
            return hour_floor_s(self.policies.opens_s)
        return hour_floor_s(self.first_node_s) if self.first_node_s is not None else None

    @property
    def kept_from_s(self) -> int:
        """The first hour that may still change."""
        opens = self.opens_s
        return self.horizon_s if opens is None else max(opens, self.horizon_s)

    def closed_hours(self, a_s: int, b_s: int) -> range:
        """The closed, kept hours that [a, b) touches."""
        opens = self.opens_s
        if opens is None:
            return range(0)
        first = max(hour_floor_s(a_s), opens, self.horizon_s)
        until = min(b_s, self.closed_until_s)
        return range(first, max(first, until), HOUR_S)

    # -- what a run's reading depends on (ledger.runs.World)

    def tree_at(self, pool: str, at_s: int) -> ShareTree:
        """The share tree of a pool in force at an instant."""
        return self.shares.tree_at(pool, at_s)

    def granted(self, pool: str, account: str, at_s: int) -> bool:
        """Whether the account, as it is booked, has a grant in force."""
        return any(
            g.pool == pool and g.in_force(at_s) and self.tree_at(pool, at_s).own(g.account) == account
            for g in self.grants
        )

    def policy_at(self, at_s: int) -> Policy:
        """The policy in force."""
        return self.policies.at(at_s)

    def node_types(self, node: str) -> tuple[tuple[int, str], ...]:
        """The node's GPU types over time."""
        found = self._types.get(node)
        if found is None:
            known = self.nodes.get(node)
            found = self._types[node] = known.types() if known is not None else ()
        return found

    def once(self, what: str, whose: str, make: Callable[[], T]) -> T:
        """What `make` makes of the state, made once until the next event."""
        if self._asked_at != (self.seq, self.ticked_s):
            self._asked, self._asked_at = {}, (self.seq, self.ticked_s)
        key = (what, whose)
        if key not in self._asked:
            self._asked[key] = make()
        return cast("T", self._asked[key])

    # -- derived jobs

    def job(self, name: str) -> JobFacts:
        """The job of that name, known from now on."""
        found = self.jobs.get(name)
        if found is None:
            found = self.jobs[name] = JobFacts(name)
        return found

    def touch(self, name: str) -> None:
        """The job's facts changed: its reading is to be made again."""
        self.stale[name] = None
        self.live[name] = None

    def read(self, name: str) -> Derived:
        """The job as booked now."""
        if name in self.stale or name not in self.derived:
            self._read_again(name)
        return self.derived[name]

    def read_all(self) -> None:
        """Bring every reading up to date."""
        for name in list(self.stale):
            self.read(name)

    def _read_again(self, name: str) -> None:
        facts = self.jobs[name]
        self._unplace(name)
        runs = derive(facts, self)
        spans = queued(facts, runs)
        self.derived[name] = Derived(runs, waits(facts, runs, spans), spans)
        self.entries.pop(name, None)
        self.stale.pop(name, None)
        if facts.ever_held:
            self.maybe_held[name] = None
        else:
            self.maybe_held.pop(name, None)
        self._place(name)

    def _days(self, run: DerivedRun) -> Iterable[int]:
        if run.end_s == FOREVER_S:
            return (_NO_END,)
        return range(run.start_s // DAY_S, max(run.start_s, run.end_s - 1) // DAY_S + 1)

    def _place(self, name: str) -> None:
        for run in self.derived[name].runs:
            days = self._days(run)
            for node, _, _ in run.placements:
                by_day = self._on_node.setdefault(node, {})
                for day in days:
                    by_day.setdefault(day, {})[name] = None

    def _unplace(self, name: str) -> None:
        for run in self.derived.get(name, NOTHING).runs:
            days = self._days(run)
            for node, _, _ in run.placements:
                by_day = self._on_node.get(node, {})
                for day in days:
                    by_day.get(day, {}).pop(name, None)

    def on_node(self, node: str, a_s: int, b_s: int) -> Iterator[str]:
        """Jobs that may hold the node within [a, b), an hour or less; all readings must be up to date."""
        by_day = self._on_node.get(node)
        if not by_day:
            return
        seen: dict[str, None] = dict(by_day.get(_NO_END, ()))
        for day in range(a_s // DAY_S, (b_s - 1) // DAY_S + 1):
            seen.update(by_day.get(day, {}))
        yield from seen

    def ever_on_node(self, node: str) -> dict[str, None]:
        """Every job known to have been placed on the node."""
        seen: dict[str, None] = {}
        for jobs in self._on_node.get(node, {}).values():
            seen.update(jobs)
        return seen

    def forget_job(self, name: str) -> None:
        """Drop a job and everything cached of it."""
        self._unplace(name)
        self.derived.pop(name, None)
        self.stale.pop(name, None)
        self.live.pop(name, None)
        self.maybe_held.pop(name, None)
        self.entries.pop(name, None)
        del self.jobs[name]

    # -- nodes

    def node_changed(self, node: str, statement: NodeStatement) -> None:
        """A node statement came: what is cached of nodes is to be made again, if it says anything new.

        A node seen again as it was makes no edge, lest every poll cut the hours of all.
        """
        self._types.pop(node, None)
        self.turned += 1
        turns = self.nodes[node].turns_by(statement)
        if not turns:
            return
        if not self.node_edges or turns[0] > self.node_edges[-1]:
            self.node_edges += turns
            return
        for at_s in turns:
            place = bisect_left(self.node_edges, at_s)
            if self.node_edges[place : place + 1] != [at_s]:
                self.node_edges.insert(place, at_s)
        self._health = {edge: h for edge, h in self._health.items() if edge < turns[0]}

    def nodes_forgotten(self) -> None:
        """Node statements were dropped: edges before the horizon no longer count."""
        self.turned += 1
        self._types.clear()
        self._health.clear()
        self.node_edges = sorted({at for n in self.nodes.values() for at in n.edges()})

    def health_at(self, at_s: int) -> dict[str, Health]:
        """By pool, the healthy nodes at an instant; only pools that have nodes with capacity then."""
        place = bisect_right(self.node_edges, at_s)
        edge = self.node_edges[place - 1] if place else -1
        found = self._health.get(edge)
        if found is None:
            found = self._health[edge] = self._healthy(at_s)
        return found

    def _healthy(self, at_s: int) -> dict[str, Health]:
        sizes: dict[str, list[int]] = {}
        for node in self.nodes.values():
            now = node.stretches(at_s, at_s + 1)[0]
            if now.gpus_milli:
                pool = sizes.setdefault(now.gpu_type, [])
                if now.healthy_milli:
                    pool.append(now.healthy_milli)
        return {pool: Health(tuple(sorted(s)), sum(s)) for pool, s in sizes.items()}

    def pool_health(self, pool: str, at_s: int) -> Health:
        """The healthy nodes of a pool at an instant."""
        return self.health_at(at_s).get(pool, NO_NODES)

    # -- time

    def forget_windows(self) -> None:
        """Let go of maintenance windows that are over."""
        self.windows = {name: one for name, one in self.windows.items() if one.until_s > self.ticked_s}

    def decided_anew(self) -> None:
        """Shares, policy or grants changed: find the instants at which they do again."""
        self.turned += 1
        edges = set(self.shares.edges)
        edges.update(change.at_s for change in self.policies.changes)
        for grant in self.grants:
            edges.update((grant.since_s, grant.until_s))
        self.decision_edges = sorted(edges)

    def epoch_at(self, at_s: int) -> tuple[int, int, int]:
        """Equal for two instants, and two looks, between which no node and no decision changed."""
        return self.turned, bisect_right(self.node_edges, at_s), bisect_right(self.decision_edges, at_s)

    def edges_in(self, a_s: int, b_s: int) -> list[int]:
        """Instants strictly inside (a, b) at which shares, policy, grants or nodes change, ascending."""
        first, last = bisect_right(self.node_edges, a_s), bisect_left(self.node_edges, b_s)
        decided = self.decision_edges
        first_decided, last_decided = bisect_right(decided, a_s), bisect_left(decided, b_s)
        if first >= last and first_decided >= last_decided:
            return []
        return sorted({*self.node_edges[first:last], *decided[first_decided:last_decided]})

    def stretches_of(self, a_s: int, b_s: int) -> list[tuple[int, int]]:
        """[a, b) cut at every edge inside."""
        if a_s >= b_s:
            return []
        cuts = [a_s, *self.edges_in(a_s, b_s), b_s]
        return list(pairwise(cuts))
