"""docs/accounting.md computed a second time, by brute force: the oracle that the fold is held against.

`Naive(accepted)` takes the accepted events of one cluster in log order and answers each question anew.
It integrates over the stretches between all instants at which anything may change, with plain loops and
Fractions. Slow on purpose; do not make it clever.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from ledger.events.decisions import ClockTicked, PolicySet, SharesSet
from ledger.events.jobs import JobEnded, JobSubmitted, JobUpdated
from ledger.events.nodes import NodeObserved, NodeRemoved
from ledger.units import FOREVER_S, HOUR_S, epoch_s
from tests.oracle.facts import Facts, Wanted, effective_s
from tests.oracle.runs import Run, all_runs

Key = tuple[str, str, str, str, str, str, str]  # pool, book, account, class_, kind, node, run

ACCOUNT_COLUMNS = (
    "claim_gpu_ms",
    "grant_gpu_ms",
    "charged_gpu_ms",
    "refunded_gpu_ms",
    "demand_gpu_ms",
    "owed_gpu_ms",
    "commitment_gpu_ms",
    "unfunded_gpu_ms",
)
NODE_COLUMNS = {  # (kind, class_) of the capacity book -> column, sign
    ("capacity", ""): ("capacity_gpu_ms", -1),
    ("overbooked", ""): ("overbooked_gpu_ms", -1),
    ("occupied", "unfunded"): ("unfunded_gpu_ms", 1),
    ("occupied", "protected"): ("protected_gpu_ms", 1),
    ("occupied", "interruptible"): ("interruptible_gpu_ms", 1),
    ("occupied", "suspended"): ("suspended_gpu_ms", 1),
    ("idle", ""): ("idle_gpu_ms", 1),
    ("unavailable", "planned"): ("unavailable_planned_gpu_ms", 1),
    ("unavailable", "unplanned"): ("unavailable_unplanned_gpu_ms", 1),
}
HEALTH = {"draining": "planned", "planned_down": "planned", "down": "unplanned"}


class Queued(NamedTuple):
    """A pending job that is funded and placeable at an instant."""

    submit_s: int
    job: str
    pool: str
    booked: str
    gpus_milli: int


class Naive:
    """One cluster's book from its accepted events `(event, recorded_s)`, in log order.

    With `every_second` it integrates second by second instead of from breakpoint to breakpoint.
    """

    def __init__(self, accepted: Iterable[tuple[Any, int]], *, every_second: bool = False) -> None:
        self.every_second = every_second
        self.facts = Facts(event for event, _ in accepted)
        self.derived = all_runs(self.facts)

    # ------------------------------------------------------------------ what the tests ask

    def opens_s(self) -> int | None:
        return self.facts.opens_s()

    def closed_until_s(self) -> int | None:
        """§6 "An hour is closed when its end + 300 s ≤ the watermark"; the opening while none is closed."""
        return self.facts.closed_until_s()

    def first_kept_s(self) -> int | None:
        """§6 "the later of the opening hour and (closed until − horizon), moved only by ticks"."""
        first = self.facts.opens_s()
        for n, event in enumerate(self.facts.log, start=1):
            if isinstance(event, ClockTicked):
                then = Facts(self.facts.log[:n])
                closed, watermark = then.closed_until_s(), then.watermark_s()
                if first is not None and closed is not None and watermark is not None:
                    first = max(first, closed - then.policy("horizon_h", watermark) * HOUR_S)
        return first

    def closed_hours(self) -> list[int]:
        """The hours whose postings must be as `postings` says: closed, and inside the horizon."""
        first, until = self.first_kept_s(), self.closed_until_s()
        return [] if first is None or until is None else list(range(first, until, HOUR_S))

    def postings(self, hour_s: int) -> dict[Key, int]:
        """f of this hour: net amount by (pool, book, account, class_, kind, node, run), zeros dropped."""
        if not self.is_open(hour_s):
            return {}
        legs: dict[Key, int] = defaultdict(int)
        for pool, book, account, class_, kind, node, run, amount in [
            *self.capacity_book(hour_s),
            *self.budget_book(hour_s),
        ]:
            legs[pool, book, account, class_, kind, node, run] += amount
        return {key: amount for key, amount in legs.items() if amount}

    def account_hours(self, hour_s: int) -> dict[tuple[str, str], dict[str, int]]:
        """§5 by (pool, account), rows that are all zero left out (the fold keeps one if it was not so before)."""
        if not self.is_open(hour_s):
            return {}
        rows: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(ACCOUNT_COLUMNS, 0))
        for (pool, book, account, class_, kind, _, _), amount in self.postings(hour_s).items():
            if (book, class_, kind) in BUDGET_COLUMNS:
                column, sign = BUDGET_COLUMNS[book, class_, kind]
                rows[pool, account][column] += sign * amount
        for key, amount in self.demand(hour_s).items():
            rows[key]["demand_gpu_ms"] += amount
        for key, amount in self.commitments(hour_s + HOUR_S).items():
            rows[key]["commitment_gpu_ms"] += amount
        for row in rows.values():
            row["owed_gpu_ms"] = min(row["claim_gpu_ms"] + row["grant_gpu_ms"], row["demand_gpu_ms"])
        return {key: row for key, row in rows.items() if any(row.values())}

    def node_hours(self, hour_s: int) -> dict[tuple[str, str], dict[str, int]]:
        """The capacity book by (pool, node), in the columns of `rows.NodeHour`."""
        rows: dict[tuple[str, str], dict[str, int]] = {}
        for (pool, book, _, class_, kind, node, _), amount in self.postings(hour_s).items():
            if book == "capacity":
                column, sign = NODE_COLUMNS[kind, class_]
                row = rows.setdefault((pool, node), {name: 0 for name, _ in NODE_COLUMNS.values()})
                row[column] += sign * amount
        return rows

    def cluster_hours(self, hour_s: int) -> dict[str, dict[str, int]]:
        """The same by pool, with what was claimed, in the columns of `rows.ClusterHour`."""
        empty = {name: 0 for name, _ in NODE_COLUMNS.values()} | {"claimed_gpu_ms": 0}
        rows: dict[str, dict[str, int]] = {}
        for (pool, _), sums in self.node_hours(hour_s).items():
            for column, amount in sums.items():
                rows.setdefault(pool, dict(empty))[column] += amount
        for (pool, _), sums in self.account_hours(hour_s).items():
            if sums["claim_gpu_ms"]:
                rows.setdefault(pool, dict(empty))["claimed_gpu_ms"] += sums["claim_gpu_ms"]
        return rows

    def runs(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Derived facts of every run by (job, attempt), named as in `rows.Run` where that has them."""
        return {(run.job, run.attempt): self.run_facts(run) for run in self.derived}

    def run_facts(self, run: Run) -> dict[str, Any]:
        ended = run.end_s != FOREVER_S
        return {
            "started_s": run.start_s,
            "ended_s": run.end_s if ended else None,
            "outcome": run.outcome,
            "exit_code": run.exit_code,
            "funded": run.funded,
            "funding_reason": run.reason,
            "user": run.terms.user,
            "account": run.terms.account,
            "booked_account": run.booked,
            "kind": run.terms.kind,
            "gang": run.terms.gang,
            "min_runtime_s": run.terms.min_runtime_s,
            "resumable": run.terms.resumable,
            "priority": run.terms.priority,
            "pools": run.pools,
            "placements": run.placements,
            "gpus_milli": sum(run.placements.values()),
            "contract_end_s": run.contract_end_s(),
            "running_s": run.running_s(run.start_s, run.end_s) if ended else None,
            "suspended_s": sum(p.until_s - p.since_s for p in run.pauses) if ended else None,
            "checkpointed_s": max(run.checkpoints, default=None),
            "idle_since_s": run.idle_since_s,
            "flags": run.flags,
        }

    # ------------------------------------------------------------------ time

    def is_open(self, hour_s: int) -> bool:
        """§4 "Hours before it do not exist"."""
        opens = self.facts.opens_s()
        return opens is not None and hour_s >= opens

    def instants(self) -> set[int]:
        """Every instant at which anything may change."""
        found: set[int] = set()
        for one in self.facts.of(NodeObserved, NodeRemoved, JobSubmitted, JobUpdated, JobEnded):
            found.add(one.at_s)
        for one in self.facts.of(JobSubmitted, JobUpdated):
            if one.data.eligible_from is not None:
                found.add(epoch_s(one.data.eligible_from))
        for one in self.facts.decided(PolicySet):
            found.add(one.at_s)
        for one in self.facts.decided(SharesSet):
            found.add(effective_s(one))
        for one in self.facts.grants():
            found |= {epoch_s(one.data.since), epoch_s(one.data.until)}
        for run in self.derived:
            found |= {run.start_s, run.end_s}
            found |= {at for pause in run.pauses for at in (pause.since_s, pause.until_s)}
            found |= {
                at
                for at in (
                    *(run.contract_end_s(), run.refund_from_s(), run.eligible_s, run.submitted_s),
                    run.second_start_s,
                )
                if at is not None
            }
        return found

    def stretches(self, hour_s: int) -> Iterator[tuple[int, int]]:
        """The hour cut so that nothing changes inside [a, b)."""
        end_s = hour_s + HOUR_S
        inside = range(hour_s, end_s) if self.every_second else self.instants()
        cuts = sorted({hour_s, end_s} | {at for at in inside if hour_s < at < end_s})
        return pairwise(cuts)

    # ------------------------------------------------------------------ §3 capacity book

    def capacity_book(self, hour_s: int) -> Iterator[tuple[str, str, str, str, str, str, str, int]]:
        """§3 legs, one stretch after the other."""
        nodes = set(self.facts.stated_nodes()) | {node for run in self.derived for node in run.placements}
        for a, b in self.stretches(hour_s):
            for node in sorted(nodes):
                yield from self.capacity_legs(node, a, b - a)

    def capacity_legs(self, node: str, t: int, seconds: int) -> Iterator[tuple[str, str, str, str, str, str, str, int]]:
        """§3 c + overbooked max(0, o − c) = occupied o + (idle | planned | unplanned) max(0, c − o)."""
        state = self.facts.node_at(node, t)
        capacity = {} if state is None else {state.gpu_type: state.gpus_milli}
        held = [(run, run.piece(t), run.placements[node]) for run in self.derived if node in run.placements]
        held = [(run, piece, milli) for run, piece, milli in held if piece]
        pools = set(capacity) | {self.facts.node_pool(node, t, run.terms.gpu_type) for run, _, _ in held}
        for pool in sorted(pools):
            here = [h for h in held if self.facts.node_pool(node, t, h[0].terms.gpu_type) == pool]
            c, o = capacity.get(pool, 0), sum(milli for _, _, milli in here)
            yield pool, "capacity", "", "", "capacity", node, "", -c * seconds
            yield pool, "capacity", "", "", "overbooked", node, "", -max(0, o - c) * seconds
            for run, piece, milli in here:
                yield pool, "capacity", run.booked, piece, "occupied", node, run.name, milli * seconds
            free = max(0, c - o) * seconds
            if state is None or state.state == "available":
                yield pool, "capacity", "", "", "idle", node, "", free
            else:
                yield pool, "capacity", "", HEALTH[state.state], "unavailable", node, "", free

    # ------------------------------------------------------------------ §4 budget book

    def budget_book(self, hour_s: int) -> Iterator[tuple[str, str, str, str, str, str, str, int]]:
        """§4 legs: class_ is `pool`, `budget` or `spent`, kind is `claim`, `grant`, `charge` or `refund`."""
        for (pool, account), amount in self.claims(hour_s).items():
            yield pool, "budget", "", "pool", "claim", "", "", -amount
            yield pool, "budget", account, "budget", "claim", "", "", amount
        for (pool, account, grant), amount in self.grants(hour_s).items():
            yield pool, "budget", "", "pool", "grant", "", grant, -amount
            yield pool, "budget", account, "budget", "grant", "", grant, amount
        for run in self.derived:
            if run.funded:
                for pool, amount in self.run_gpu_ms(run, hour_s, run.start_s).items():
                    yield pool, "budget", run.booked, "budget", "charge", "", run.name, -amount
                    yield pool, "budget", run.booked, "spent", "charge", "", run.name, amount
            refund_from = run.refund_from_s()
            if refund_from is not None:
                for pool, amount in self.run_gpu_ms(run, hour_s, refund_from).items():
                    yield pool, "budget", run.booked, "spent", "refund", "", run.name, -amount
                    yield pool, "budget", run.booked, "budget", "refund", "", run.name, amount

    def claims(self, hour_s: int) -> dict[tuple[str, str], int]:
        """§4 claim: floor(Σ over the stretches: exact share × healthy capacity integral of the stretch)."""
        exact: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for a, b in self.stretches(hour_s):
            for pool in self.facts.pools():
                healthy = sum(self.facts.healthy_nodes(pool, a)) * (b - a)
                for account, share in self.facts.leaves(pool, a).items():
                    exact[pool, account] += share * healthy
        return {key: amount.numerator // amount.denominator for key, amount in exact.items()}

    def grants(self, hour_s: int) -> dict[tuple[str, str, str], int]:
        """§4 grant: floor(amount × elapsed(b) / length) − floor(amount × elapsed(a) / length), by its id."""
        result: dict[tuple[str, str, str], int] = defaultdict(int)
        for grant in self.facts.grants():
            since, until = epoch_s(grant.data.since), epoch_s(grant.data.until)
            a, b = max(hour_s, since), min(hour_s + HOUR_S, until)
            if a < b:
                accrued = [grant.data.amount_gpu_ms * (at - since) // (until - since) for at in (a, b)]
                account = self.facts.grant_account(grant, hour_s)
                result[grant.data.gpu_type, account, grant.event.id] += accrued[1] - accrued[0]
        return result

    def run_gpu_ms(self, run: Run, hour_s: int, from_s: int) -> dict[str, int]:
        """Per pool: milli-GPUs × running seconds of the run from `from_s` on, inside the hour."""
        result: dict[str, int] = defaultdict(int)
        for a, b in self.stretches(hour_s):
            seconds = run.running_s(max(a, from_s), b)
            for node, milli in run.placements.items():
                result[self.facts.node_pool(node, a, run.terms.gpu_type)] += milli * seconds
        return result

    # ------------------------------------------------------------------ §5 account hours

    def demand(self, hour_s: int) -> dict[tuple[str, str], int]:
        """§5 demand: ∫ over the hour of what `demand_at` says."""
        result: dict[tuple[str, str], int] = defaultdict(int)
        for a, b in self.stretches(hour_s):
            for key, milli in self.demand_at(a).items():
                result[key] += milli * (b - a)
        return result

    def demand_at(self, t: int) -> dict[tuple[str, str], int]:
        """§5 funded runs' running pieces + funded pending jobs for which slot limits have room."""
        demand: dict[tuple[str, str], int] = defaultdict(int)
        used: dict[tuple[str, str], int] = defaultdict(int)  # by (pool, account or ancestor)
        for run in self.derived:
            if run.piece(t) in {"protected", "interruptible"}:
                for node, milli in run.placements.items():
                    pool = self.facts.node_pool(node, t, run.terms.gpu_type)
                    demand[pool, run.booked] += milli
                    for step in path(run.booked):
                        used[pool, step] += milli
        for queued in sorted(self.queue(t)):
            if self.has_room(queued, used, t):
                demand[queued.pool, queued.booked] += queued.gpus_milli
                for step in path(queued.booked):
                    used[queued.pool, step] += queued.gpus_milli
        return demand

    def has_room(self, queued: Queued, used: dict[tuple[str, str], int], t: int) -> bool:
        """§5 "on every limited account of its path the milli-GPUs counted so far plus its own are ≤" it."""
        for step in path(queued.booked):
            limit = self.facts.slot_limit(queued.pool, step, t)
            if limit is not None and used[queued.pool, step] + queued.gpus_milli > limit:
                return False
        return True

    def queue(self, t: int) -> list[Queued]:
        """§5 the jobs that are funded pending and placeable at t."""
        jobs = {one.data.job for one in self.facts.of(JobSubmitted)} | {run.job for run in self.derived}
        found = []
        for job in sorted(jobs):
            wanted = self.wanted(job, t)
            if not self.pending(job, t) or wanted is None or wanted.held:
                continue
            if wanted.eligible_from_s is not None and t < wanted.eligible_from_s:
                continue
            pool = self.pool_of(wanted, t)
            if pool is None or not self.placeable(pool, wanted, t):
                continue
            booked, reason = self.facts.funding(wanted.account, wanted.min_runtime_s, [pool], t)
            if reason == "":
                found.append(Queued(self.submit_s(job, t), job, pool, booked, wanted.gpus_milli))
        return found

    def attempts(self, job: str) -> list[Run]:
        """The runs of the job, first to start first."""
        return sorted((run for run in self.derived if run.job == job), key=lambda r: (r.start_s, r.attempt))

    def pending(self, job: str, t: int) -> bool:
        """§5 "the latest of its queue instants ≤ t opens"; "at equal instants a closing wins"."""
        instants = [(at, opens) for at, opens in self.queue_instants(job) if at <= t]
        latest = max((at for at, _ in instants), default=None)
        return latest is not None and all(opens for at, opens in instants if at == latest)

    def runs_at(self, job: str, t: int) -> bool:
        """§5 "unless an attempt of the job runs at that instant"."""
        return any(run.start_s <= t < run.end_s for run in self.attempts(job))

    def queue_instants(self, job: str) -> Iterator[tuple[int, bool]]:
        """§5 (instant, whether it opens)."""
        for one in self.facts.submissions(job):
            eligible_from = one.data.eligible_from
            at = max(one.at_s, one.at_s if eligible_from is None else epoch_s(eligible_from))
            if not self.runs_at(job, at):
                yield at, True
        for run in self.attempts(job):
            queued_s = run.submitted_s if run.eligible_s is None else run.eligible_s
            if queued_s is not None and queued_s < run.start_s and not self.runs_at(job, queued_s):
                yield queued_s, True
            yield run.start_s, False
            if run.second_start_s is not None:
                yield run.second_start_s, False
            if run.end_s != FOREVER_S:
                again = run.told == "requeued"
                again |= run.outcome in {"preempted", "node_failure"} and run.terms.resumable
                yield run.end_s, again
        for one in self.facts.of(JobEnded):
            if one.data.job == job and one.data.attempt is None:
                yield one.at_s, False

    def wanted(self, job: str, t: int) -> Wanted | None:
        """§5 the job's terms at t; of a job never submitted those of the run it waits for."""
        if self.facts.submissions(job):
            return self.facts.wanted(job, t)
        run = self.awaited(job, t)
        first_node = min(run.placements)
        return Wanted(
            user=run.terms.user,
            account=run.terms.account,
            kind=run.terms.kind,
            gang=run.terms.gang,
            gpus_milli=sum(run.placements.values()),
            shape=(len(run.placements), max(run.placements.values())),
            gpu_type=self.facts.node_pool(first_node, run.start_s, run.terms.gpu_type),
            min_runtime_s=run.terms.min_runtime_s,
            resumable=run.terms.resumable,
            priority=run.terms.priority,
            held=False,
            eligible_from_s=None,
        )

    def awaited(self, job: str, t: int) -> Run:
        """§5 "the run it waits for (the next to start, else the last)"."""
        attempts = self.attempts(job)
        return next((run for run in attempts if run.start_s > t), attempts[-1])

    def submit_s(self, job: str, t: int) -> int:
        """When the job was first submitted; of a job never submitted, when the run it waits for was."""
        submitted = self.facts.submissions(job)
        if submitted:
            return submitted[0].at_s
        run = self.awaited(job, t)
        known = [at for at in (run.submitted_s, run.eligible_s) if at is not None]
        return known[0] if known else run.start_s

    def pool_of(self, wanted: Wanted, t: int) -> str | None:
        """§5 "its GPU type, or, without one, the only pool that has nodes with capacity at t, else none"."""
        if wanted.gpu_type:
            return wanted.gpu_type
        pools = self.facts.pools_with_capacity(t)
        return pools[0] if len(pools) == 1 else None

    def placeable(self, pool: str, wanted: Wanted, t: int) -> bool:
        """§5 "K nodes with at least g milli-GPUs each"; "without shape, total healthy capacity"."""
        healthy = self.facts.healthy_nodes(pool, t)
        if wanted.shape is None:
            return sum(healthy) >= wanted.gpus_milli
        nodes, each = wanted.shape
        return len([milli for milli in healthy if milli >= each]) >= nodes

    def commitments(self, t: int) -> dict[tuple[str, str], int]:
        """§5 commitment: milli-GPUs × what is left of the minimum runtime, of funded runs that span t."""
        result: dict[tuple[str, str], int] = defaultdict(int)
        for run in self.derived:
            if run.funded and run.start_s < t < run.end_s and not run.released(t):
                left_s = max(0, run.terms.min_runtime_s - run.running_s(run.start_s, t))
                for node, milli in run.placements.items():
                    pool = self.facts.node_pool(node, t, run.terms.gpu_type)
                    result[pool, run.booked] += milli * left_s
        return result


BUDGET_COLUMNS = {  # (book, class_, kind) -> column, sign
    ("budget", "budget", "claim"): ("claim_gpu_ms", 1),
    ("budget", "budget", "grant"): ("grant_gpu_ms", 1),
    ("budget", "spent", "charge"): ("charged_gpu_ms", 1),
    ("budget", "spent", "refund"): ("refunded_gpu_ms", -1),
    ("capacity", "unfunded", "occupied"): ("unfunded_gpu_ms", 1),
}


def path(account: str) -> list[str]:
    """The account and its ancestors, from the root down."""
    steps = account.split("/")
    return ["/".join(steps[: n + 1]) for n in range(len(steps))]
