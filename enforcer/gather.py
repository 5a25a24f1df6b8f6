"""From a book's state to the snapshot a plan is made of: one pool at the last tick. Pure.

What is said after the tick does not count yet, as everywhere in `ledger.standing`. Open plans that enforce do count,
as if they were carried out; of one that only observes the same asker is not planned for again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from enforcer import windows
from enforcer.backoff import not_before_s
from enforcer.pace import ordered_s
from enforcer.promises import promised
from enforcer.snapshot import Asker, Node, Snapshot, Unit
from enforcer.staying import leaves, staying
from ledger.acts import Plan, PlanAsker
from ledger.nodes import HEALTHY
from ledger.ranking import is_debug
from ledger.runs import PREEMPTED, DerivedRun
from ledger.standing import QueueEntry, back_in_time, queue, running, slots, standing
from ledger.state import State
from ledger.tree import lineage
from ledger.units import DAY_S, GPU_MILLI


def pools(state: State) -> list[str]:
    """The pools there is something to plan in: GPU types with a healthy node at the last tick."""
    return sorted(state.health_at(state.ticked_s))


def snapshots(state: State) -> dict[str, Snapshot]:
    """Every pool there is something to plan in, as it stands at the last tick."""
    waiting = queue(state)
    return {pool: _snapshot(state, pool, waiting) for pool in pools(state)}


def snapshot_of(state: State, pool: str) -> Snapshot:
    """One pool, as it stands at the last tick."""
    return _snapshot(state, pool, queue(state))


def beside(state: State, plan: Plan) -> Snapshot:
    """The pool of an open plan as if there were no such plan, and nobody asked."""
    return _snapshot(state, plan.made.pool, [], apart_from=plan)


def _snapshot(state: State, pool: str, waiting: list[QueueEntry], apart_from: Plan | None = None) -> Snapshot:
    here = [run for run in running(state) if pool in _pools(state, run)]
    found = _as_told(state, pool, waiting, here)
    for plan in state.acts.open():
        if plan.enforces and plan.made.pool == pool and plan is not apart_from:
            found = _carried_out(found, plan, {run.job for run in here})
    return found


def _carried_out(snapshot: Snapshot, plan: Plan, jobs: set[str]) -> Snapshot:
    """The snapshot with an open plan in it: runs it orders off leave, and their room is its asker's until that runs."""
    leaving = {v.run for v in plan.made.victims if leaves(plan, v.run)}
    gone = tuple(unit for unit in snapshot.units if leaving & set(unit.runs))
    made = plan.made.asker
    if made is None or made.job in jobs:
        return promised(snapshot, None, {}, gone)
    return promised(snapshot, asker_of(made), dict(plan.made.hosts), gone)


def asker_of(made: PlanAsker) -> Asker:
    """The asker of a plan. What it was chosen by is not kept; where it fits is."""
    return Asker(made.job, made.account, made.pieces, made.piece_milli, made.min_runtime_s, 0, apart=made.apart)


def _as_told(state: State, pool: str, waiting: list[QueueEntry], here: list[DerivedRun]) -> Snapshot:
    """The pool as observations tell of it."""
    return Snapshot(
        cluster=state.cluster,
        pool=pool,
        seq=state.seq,
        at_s=state.ticked_s,
        nodes=tuple(_nodes(state, pool)),
        units=tuple(_units(state, here)),
        askers=tuple(_asker(state, entry) for entry in waiting if entry.pool == pool and entry.ranked is not None),
        ratios=standing(state, pool),
        shares=_shares(state, pool),
        running_milli=_running(state, pool, here),
        history=Hours(state, pool),
        limits_milli={account: found.limit_milli for account, found in slots(state, pool).items()},
        debug_milli=_debug(state, here),
        ordered_s=ordered_s(state),
    )


@dataclass(frozen=True, slots=True)
class Hours:
    """The kept hours of a book, looked at over longer windows than the one in force."""

    state: State
    pool: str

    def over(self, account: str, windows: Fraction) -> tuple[int, int]:
        """(delivered, claim) over so many times the window, as far as hours are kept."""
        used, claim = 0, 0
        for back_h, *sums in back_in_time(self.state, self.pool, account):
            if back_h > windows * self._window_h:
                break
            used, claim = sums
        return used, claim

    def covering(self, account: str, claim_gpu_ms: int, most: int) -> Fraction | None:
        """The shortest window, in windows, whose claim is at least that."""
        for back_h, _, claim in back_in_time(self.state, self.pool, account):
            if back_h > most * self._window_h:
                break
            if claim >= claim_gpu_ms:
                return max(Fraction(1), Fraction(back_h, self._window_h))
        return None

    @property
    def _window_h(self) -> int:
        return self.state.policy_at(self.state.ticked_s).window_h


def _pools(state: State, run: DerivedRun) -> set[str]:
    return set(run.pools) or {state.nodes[n].type_at(state.ticked_s) for n, *_ in run.placements if n in state.nodes}


def _nodes(state: State, pool: str) -> Iterator[Node]:
    """The pool's nodes by name. What runs hold is taken off, however little the node says it has."""
    at_s, near = state.ticked_s, windows.near(state)
    held = state.once("held", "", lambda: _held(state))
    for name, node in sorted(state.nodes.items()):
        (stretch,) = node.stretches(at_s, at_s + 1)
        if stretch.gpu_type != pool or not stretch.gpus_milli:
            continue
        free = max(0, stretch.gpus_milli - held.get(name, 0))
        healthy, closing = stretch.state == HEALTHY, name in near
        yield Node(name, stretch.gpus_milli, free, usable=healthy and not closing, closing=healthy and closing)


def _held(state: State) -> dict[str, int]:
    """Milli-GPUs by node that runs hold."""
    found: dict[str, int] = {}
    for run in running(state):
        if not _released(run, state.ticked_s):
            for node, milli, _ in run.placements:
                found[node] = found.get(node, 0) + milli
    return found


def _units(state: State, runs: list[DerivedRun]) -> Iterator[Unit]:
    """Runs, and gangs as one, by name; without those that lately did not leave when they were told to."""
    stay = staying(state, state.ticked_s)
    gangs: dict[str, list[DerivedRun]] = {}
    for run in runs:
        if not _released(run, state.ticked_s):
            gangs.setdefault(f"gang {run.terms.gang}" if run.terms.gang else run.run, []).append(run)
    for name, found in sorted(gangs.items()):
        members = sorted(found, key=lambda run: (run.job, run.attempt))
        if any((run.job, run.attempt) in stay for run in members):
            continue
        first = members[0]
        funded = any(run.funded for run in members)
        yield Unit(
            name=name,
            runs=tuple((run.job, run.attempt) for run in members),
            account=next((run.account for run in members if run.funded), ""),
            placements=_placements(members),
            started_s=max(run.start_s for run in members),
            contract_end_s=max(run.contract_end_s for run in members) if funded else first.start_s,
            lost_gpu_ms=sum(lost_gpu_ms(run, state.ticked_s) for run in members),
            priority=max(run.terms.priority for run in members),
            preempted_today=max(_preempted(state, run.job) for run in members),
        )


def _placements(members: list[DerivedRun]) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for run in members:
        for node, milli, _ in run.placements:
            found[node] = found.get(node, 0) + milli
    return tuple(sorted(found.items()))


def _released(run: DerivedRun, at_s: int) -> bool:
    return any(a <= at_s < b and releases for a, b, releases in run.pauses)


def lost_gpu_ms(run: DerivedRun, at_s: int) -> int:
    """Work that would have to be done again: since the checkpoint if it can be resumed, else since the start."""
    saved_s = run.start_s
    if run.terms.resumable and run.checkpointed_s is not None:
        saved_s = max(saved_s, run.checkpointed_s)
    paused = sum(max(0, min(b, at_s) - max(a, saved_s)) for a, b, _ in run.pauses)
    return run.gpus_milli * max(0, at_s - saved_s - paused)


def _preempted(state: State, job: str) -> int:
    """How often its lineage was preempted in the last day while funded."""
    since_s = state.ticked_s - DAY_S
    return sum(
        run.funded and run.outcome == PREEMPTED and since_s < run.end_s <= state.ticked_s
        for run in state.read(job).runs
    )


def _asker(state: State, entry: QueueEntry) -> Asker:
    terms, job = entry.terms, entry.job
    nodes, piece = terms.shape_nodes, terms.shape_gpus_milli
    if not nodes:  # no shape: whole GPUs anywhere, or a slice of one
        whole = terms.gpus_milli % GPU_MILLI == 0
        nodes, piece = (terms.gpus_milli // GPU_MILLI, GPU_MILLI) if whole else (1, terms.gpus_milli)
    return Asker(
        job=job.job,
        account=job.account or "",
        pieces=nodes,
        piece_milli=piece,
        min_runtime_s=job.min_runtime_s,
        since_s=entry.since_s,
        apart=bool(terms.shape_nodes),
        priority=job.priority,
        debug=job.is_debug,
        not_before_s=not_before_s(state, job.job),
        planned=state.acts.open_for(job.job) is not None,
    )


def _shares(state: State, pool: str) -> dict[str, Fraction]:
    """Each account's part of the pool now, with all below it."""
    found: dict[str, Fraction] = {}
    for leaf, share in state.tree_at(pool, state.ticked_s).leaves.items():
        for account in lineage(leaf):
            found[account] = found.get(account, Fraction(0)) + share
    return found


def _running(state: State, pool: str, runs: list[DerivedRun]) -> dict[str, int]:
    """GPUs of funded runs by account, with all below it."""
    found: dict[str, int] = {}
    for run in runs:
        if run.funded and not _released(run, state.ticked_s):
            milli = sum(m for n, m, _ in run.placements if _type(state, n, run) == pool)
            for account in lineage(run.account):
                found[account] = found.get(account, 0) + milli
    return found


def _debug(state: State, runs: list[DerivedRun]) -> dict[str, int]:
    """GPUs of debug runs inside their contracts, by the account they are booked to."""
    found: dict[str, int] = {}
    for run in runs:
        if run.funded and state.ticked_s < run.contract_end_s and is_debug(run.gpus_milli, run.terms.min_runtime_s):
            found[run.account] = found.get(run.account, 0) + run.gpus_milli
    return found


def _type(state: State, node: str, run: DerivedRun) -> str:
    known = state.nodes.get(node)
    return known.type_at(state.ticked_s) if known is not None else run.pool
