"""§1 of docs/accounting.md, read slowly: what the statements say of nodes, jobs, shares, grants and policy.

Every question is answered from all statements anew. Nothing is remembered between two questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from ledger.events.acts import PlanCommitted, PreemptionIssued, PreemptionSettled
from ledger.events.decisions import ClockTicked, GrantMade, MaintenancePlanned, PolicySet, RunReassigned, SharesSet
from ledger.events.jobs import (
    JobCheckpointed,
    JobEnded,
    JobResumed,
    JobStarted,
    JobSubmitted,
    JobSuspended,
    JobUpdated,
    RunObserved,
)
from ledger.events.nodes import GpuIdleObserved, NodeObserved, NodeRemoved
from ledger.units import HOUR_S, epoch_s, epoch_us

OBSERVATIONS = (
    NodeObserved,
    NodeRemoved,
    JobSubmitted,
    JobUpdated,
    JobStarted,
    JobSuspended,
    JobResumed,
    JobCheckpointed,
    JobEnded,
    RunObserved,
    GpuIdleObserved,
)
DECISIONS = (SharesSet, GrantMade, PolicySet, MaintenancePlanned, RunReassigned)
ACTS = (PlanCommitted, PreemptionIssued, PreemptionSettled)

CLOSE_AFTER_S = 300
DEFAULT_POLICY = {
    "window_h": 168,
    "horizon_h": 35 * 24,
    "max_min_runtime_s": 8 * HOUR_S,
    "ranking": "sliding",
}


class Said(NamedTuple):
    """One statement: its stamp, its instant in whole seconds, and the event."""

    stamp: tuple[int, str, str, str]
    at_s: int
    event: Any

    @property
    def data(self) -> Any:
        return self.event.data


class Wanted(NamedTuple):
    """What a job asks for at an instant."""

    user: str
    account: str
    kind: str
    gang: str
    gpus_milli: int
    shape: tuple[int, int] | None  # nodes, milli-GPUs on each
    gpu_type: str
    min_runtime_s: int
    resumable: bool
    priority: int
    held: bool
    eligible_from_s: int | None


def said(event: Any) -> Said:
    """§1 "the greatest stamp (time in microseconds, source, id, content hash)"."""
    content = hashlib.sha256(event.model_dump_json(exclude={"recordedtime"}).encode()).hexdigest()
    return Said((epoch_us(event.time), event.source, event.id, content), epoch_s(event.time), event)


class Facts:
    """What is known from the accepted events, whatever order the observations came in."""

    def __init__(self, events: Iterable[Any]) -> None:
        """§1 "Arrival order never matters. A repeat changes nothing."; decisions count "each once"."""
        observed: dict[tuple[int, str, str, str], Said] = {}
        decided: dict[tuple[str, str], Said] = {}
        self.log: list[Any] = list(events)
        for event in self.log:
            if isinstance(event, OBSERVATIONS):
                observed.setdefault(said(event).stamp, said(event))
            elif isinstance(event, (*DECISIONS, *ACTS)):
                decided.setdefault((event.source, event.id), said(event))
        self.observations: dict[type, list[Said]] = {kind: [] for kind in OBSERVATIONS}
        for stamp in sorted(observed):
            self.observations[type(observed[stamp].event)].append(observed[stamp])
        self.decisions = list(decided.values())

    def of(self, *types: type) -> list[Said]:
        """Observations of these types, by stamp."""
        return sorted((one for kind in types for one in self.observations[kind]), key=lambda one: one.stamp)

    def decided(self, kind: type) -> list[Said]:
        """Decisions of this type, in log order."""
        return [one for one in self.decisions if isinstance(one.event, kind)]

    # ------------------------------------------------------------------ orders to leave

    def ordered_s(self, job: str, attempt: str) -> list[int]:
        """§1 ordered off: when, by plans that enforce, where the scheduler did not refuse."""
        plans = {one.data.plan for one in self.decided(PlanCommitted) if one.data.mode == "enforce"}
        refused = {
            one.data.plan
            for one in self.decided(PreemptionSettled)
            if (one.data.job, one.data.attempt, one.data.outcome) == (job, attempt, "refused")
        }
        return [
            one.at_s
            for one in self.decided(PreemptionIssued)
            if (one.data.job, one.data.attempt) == (job, attempt) and one.data.plan in plans - refused
        ]

    # ------------------------------------------------------------------ nodes

    def stated_nodes(self) -> list[str]:
        return sorted({one.data.node for one in self.of(NodeObserved, NodeRemoved)})

    def node_at(self, node: str, t: int) -> Any | None:
        """§1 Node: as the greatest statement with time ≤ t says; None before the first and when removed."""
        until_t = [one for one in self.of(NodeObserved, NodeRemoved) if one.data.node == node and one.at_s <= t]
        if not until_t or isinstance(until_t[-1].event, NodeRemoved):
            return None
        return until_t[-1].data

    def node_pool(self, node: str, t: int, requested: str) -> str:
        """§2 "the GPU type of the node's last `node.observed` with time ≤ t, else of its first one"."""
        observed = [one for one in self.of(NodeObserved) if one.data.node == node]
        if not observed:
            return requested or "unknown"
        until_t = [one for one in observed if one.at_s <= t]
        return str((until_t[-1] if until_t else observed[0]).data.gpu_type)

    def healthy_nodes(self, pool: str, t: int) -> list[int]:
        """§4 "milli-GPUs of available nodes of the pool, by node statements alone"."""
        now = [self.node_at(node, t) for node in self.stated_nodes()]
        return [n.gpus_milli for n in now if n is not None and n.gpu_type == pool and n.state == "available"]

    def pools(self) -> list[str]:
        """Every GPU type that any node was ever said to have."""
        return sorted({one.data.gpu_type for one in self.of(NodeObserved)})

    def pools_with_capacity(self, t: int) -> list[str]:
        """GPU types of the nodes that have capacity at t, whatever their health."""
        now = [self.node_at(node, t) for node in self.stated_nodes()]
        return sorted({n.gpu_type for n in now if n is not None and n.gpus_milli > 0})

    # ------------------------------------------------------------------ terms of a job

    def submissions(self, job: str) -> list[Said]:
        return [one for one in self.of(JobSubmitted) if one.data.job == job]

    def wanted(self, job: str, t: int) -> Wanted | None:
        """§1 Terms of a job at t; None where the job was never submitted."""
        submitted = self.submissions(job)
        if not submitted:
            return None
        until_t = [one for one in submitted if one.at_s <= t]
        base = until_t[-1] if until_t else submitted[0]
        fields = {name: getattr(base.data, name) for name in type(base.data).model_fields}
        for update in self.of(JobUpdated):
            if update.data.job == job and update.stamp > base.stamp and update.at_s <= t:
                for name in type(update.data).model_fields:
                    if getattr(update.data, name) is not None:
                        fields[name] = getattr(update.data, name)
        shape = fields["shape"]
        return Wanted(
            user=fields["user"],
            account=fields["account"] or "",
            kind=fields["kind"],
            gang=fields["gang"] or "",
            gpus_milli=fields["gpus_milli"],
            shape=None if shape is None else (shape.nodes, shape.gpus_per_node_milli),
            gpu_type=fields["gpu_type"] or "",
            min_runtime_s=fields["min_runtime_s"],
            resumable=fields["resumable"],
            priority=fields["priority"],
            held=fields["held"],
            eligible_from_s=None if fields["eligible_from"] is None else epoch_s(fields["eligible_from"]),
        )

    # ------------------------------------------------------------------ shares

    def share_set(self, pool: str, parent: str, t: int) -> Any | None:
        """§1 Shares: the pool's own sets for a parent if any of them is in force at t, else the `*` sets."""
        for gpu_type in (pool, None):
            in_force = [
                one.data
                for one in self.decided(SharesSet)
                if one.data.gpu_type == gpu_type and one.data.parent == parent and effective_s(one) <= t
            ]
            if in_force:
                return in_force[-1]
        return None

    def interior(self, pool: str, account: str, t: int) -> bool:
        """§1 "An account is interior at t if a set with it as parent is in force at t"."""
        return self.share_set(pool, account, t) is not None

    def children(self, pool: str, parent: str, t: int) -> dict[str, Fraction]:
        """Parts of one by child; `.` has what the set leaves, or as the set says."""
        in_force = self.share_set(pool, parent, t)
        if in_force is None:
            return {}
        parts = {child.child: Fraction(child.share_percent) / 100 for child in in_force.children}
        parts.setdefault(".", 1 - sum(parts.values(), Fraction(0)))
        return parts

    def tree(self, pool: str, t: int) -> dict[str, Fraction]:
        """§1 every account in the tree at t with its claim share; the first accepted set names the root."""
        sets = self.decided(SharesSet)
        if not sets:
            return {}
        root = sets[0].data.parent.split("/")[0]
        if self.share_set(pool, root, t) is None:  # "before that there is no tree"
            return {}
        shares = {root: Fraction(1)}
        unseen = list(shares)
        while unseen:
            parent = unseen.pop()
            for child, part in self.children(pool, parent, t).items():
                shares[f"{parent}/{child}"] = shares[parent] * part
                unseen.append(f"{parent}/{child}")
        return shares

    def leaves(self, pool: str, t: int) -> dict[str, Fraction]:
        """§1 accounts in the tree that are not interior (so the `.` of every interior account is one)."""
        return {a: share for a, share in self.tree(pool, t).items() if not self.interior(pool, a, t)}

    def slot_limit(self, pool: str, account: str, t: int) -> int | None:
        """The limit that the set of the account's parent puts on it at t."""
        parent, _, child = account.rpartition("/")
        in_force = self.share_set(pool, parent, t) if parent else None
        if in_force is None:
            return None
        limits = {one.child: one.slot_limit_milli for one in in_force.children}
        return limits.get(child)

    # ------------------------------------------------------------------ grants

    def grants(self) -> list[Said]:
        return self.decided(GrantMade)

    def grant_account(self, grant: Said, t: int) -> str:
        """§4 "An account that is interior … receives it on its `.`"."""
        return self.booked(grant.data.account, [grant.data.gpu_type], t)

    def has_grant(self, pool: str, account: str, t: int) -> bool:
        """§2 "a grant is in force on [since, until)"."""
        return any(
            grant.data.gpu_type == pool
            and self.grant_account(grant, t) == account
            and epoch_s(grant.data.since) <= t < epoch_s(grant.data.until)
            for grant in self.grants()
        )

    # ------------------------------------------------------------------ policy

    def policy(self, field: str, t: int) -> Any:
        """§1 "field by field the last accepted `policy.set` with time ≤ t naming the field"."""
        value = DEFAULT_POLICY.get(field)
        for one in self.decided(PolicySet):
            if one.at_s <= t and getattr(one.data, field) is not None:
                value = getattr(one.data, field)
        return value

    # ------------------------------------------------------------------ funding

    def booked(self, account: str, pools: Iterable[str], s: int) -> str:
        """§2 Booked account: a; if a is interior at s in any pool, a/. ."""
        return f"{account}/." if any(self.interior(pool, account, s) for pool in pools) else account

    def funding(self, account: str, min_runtime_s: int, pools: list[str], s: int) -> tuple[str, str]:
        """§2 Funded: (where it is booked, why it is unfunded: '' when funded)."""
        booked = self.booked(account, pools, s)
        shares = {pool: self.tree(pool, s).get(booked) for pool in pools}
        granted = {pool: self.has_grant(pool, booked, s) for pool in pools}
        if not account:
            return "", "no_account"
        if min_runtime_s == 0:
            return account, "no_min_runtime"
        if min_runtime_s > self.policy("max_min_runtime_s", s):
            return account, "min_runtime_over_maximum"
        if any(shares[pool] is None and not granted[pool] for pool in pools):
            return account, "unknown_account"
        if any(not shares[pool] and not granted[pool] for pool in pools):
            return account, "zero_share"
        return booked, ""

    # ------------------------------------------------------------------ opening, closing, horizon

    def opens_s(self) -> int | None:
        """§4 "opens at the UTC hour of `policy.set.opens_at`, or else of the earliest node statement, but …"."""
        stated = [epoch_s(p.data.opens_at) for p in self.decided(PolicySet) if p.data.opens_at is not None]
        nodes = [one.at_s for one in self.of(NodeObserved, NodeRemoved)]
        first = stated[-1:] or nodes[:1]
        return max(first[0] - first[0] % HOUR_S, self.earliest_opening_s()) if first else None

    def earliest_opening_s(self) -> int:
        """§4 "but not before (closed until − horizon) as of the first tick"; any time, while there was none."""
        ticks = [n for n, event in enumerate(self.log) if isinstance(event, ClockTicked)]
        if not ticks:
            return 0
        then = Facts(one for one in self.log[: ticks[0]] if isinstance(one, PolicySet))
        watermark = epoch_s(self.log[ticks[0]].data.at)
        closed_until = (watermark - CLOSE_AFTER_S) // HOUR_S * HOUR_S
        horizon_h: int = then.policy("horizon_h", watermark)
        return closed_until - horizon_h * HOUR_S

    def watermark_s(self) -> int | None:
        """§6 "`clock.ticked` moves the watermark max(at)"."""
        ticks = [epoch_s(event.data.at) for event in self.log if isinstance(event, ClockTicked)]
        return max(ticks, default=None)

    def closed_until_s(self) -> int | None:
        """§6 "An hour is closed when its end + 300 s ≤ the watermark"; the opening while none is closed."""
        opens, watermark = self.opens_s(), self.watermark_s()
        if opens is None or watermark is None:
            return opens
        until = watermark - CLOSE_AFTER_S
        return max(opens, until - until % HOUR_S)


def effective_s(one: Said) -> int:
    """§1 a set of shares is in force from `effective_at`, else from the event's time."""
    return one.at_s if one.data.effective_at is None else epoch_s(one.data.effective_at)
