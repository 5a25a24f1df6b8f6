"""What is due under an open plan: orders, what came of them, room kept, the end (POLICY §5). Pure.

A plan only shrinks: whoever left by itself is not replaced. Nothing is remembered between two looks; everything
follows from the book and the instant.
"""

from __future__ import annotations

from typing import Final

from enforcer import writing
from enforcer.classes import Class
from enforcer.gather import asker_of, beside
from enforcer.selection.problem import Choice, Problem
from enforcer.snapshot import Node, Snapshot
from enforcer.staying import STAYS
from ledger.acts import ENFORCE, OBSERVE, PAUSED, Issued, Plan, RunName, Victim
from ledger.events import Act
from ledger.runs import CLOCKS_APART_S, PREEMPTED, DerivedRun
from ledger.state import State
from ledger.units import DAY_S

KILL_S: Final = 60
"""How long a run may take to vanish that was killed after its grace."""


def next_steps(state: State, plan: Plan, now_s: int) -> list[Act]:
    """The events that are due under a plan now; applied, the next look finds what follows from them."""
    if not plan.enforces:
        return _observed(state, plan, now_s)
    settled = _settled(state, plan, now_s)
    if settled:
        return settled
    if any(run not in plan.settled for run in plan.issued):
        return []
    over = _over(state, plan, now_s)
    if over:
        return [over]
    if not plan.issued:
        return _ordered(state, plan, now_s)
    if plan.made.asker is None:
        return [writing.expired(state, plan, "drained", "All it ordered off have left.", now_s)]
    if plan.held is None:
        return [writing.held(state, plan, now_s)]
    return _held(state, plan, now_s)


def next_due_s(state: State, plan: Plan, now_s: int) -> int | None:
    """When time alone makes a step due, at the latest; None where only events do."""
    if not plan.enforces:
        return _observed_until_s(plan)
    waiting = [order for run, order in plan.issued.items() if run not in plan.settled]
    if waiting:
        return None if _paused(state, now_s) else min(_gone_by_s(state, order, now_s) for order in waiting)
    return plan.held.until_s if plan.held is not None else None


def run_of(state: State, run: RunName) -> DerivedRun | None:
    """The run as booked; None where nobody told of its start."""
    if run[0] not in state.jobs:
        return None
    return next((found for found in state.read(run[0]).runs if found.attempt == run[1]), None)


def runs_on(state: State, run: RunName, now_s: int) -> bool:
    """Whether it still runs, as far as is known."""
    found = run_of(state, run)
    return found is not None and found.end_s > now_s


# ---------------------------------------------------------------- orders


def _ordered(state: State, plan: Plan, now_s: int) -> list[Act]:
    """Orders to those who still have to leave; or the end of the plan, where nobody has to, or it no longer helps."""
    left = [victim for victim in plan.made.victims if runs_on(state, victim.run, now_s)]
    if plan.made.asker is None:
        if not left:
            return [writing.expired(state, plan, "drained", "All it names have left by themselves.", now_s)]
        return [writing.issued(state, plan, victim, now_s) for victim in left]
    if len(left) == len(plan.made.victims) and state.ticked_s == plan.made.at_s:  # nothing happened since
        return [writing.issued(state, plan, victim, now_s) for victim in left]
    problem, gone = _problem(state, plan, left)
    if problem.fits(gone):
        return [writing.expired(state, plan, "fits", "The asker fits without anybody yielding.", now_s)]
    everybody = {choice.unit.name for choice in problem.choices}
    if not problem.fits(everybody):
        sentence = "Its room is no longer there, though all it names would leave."
        return [writing.expired(state, plan, "taken", sentence, now_s)]
    needed = _needed(problem, gone)
    return [writing.issued(state, plan, v, now_s) for v in left if _unit_of(problem, v.run) in needed]


def _problem(state: State, plan: Plan, left: list[Victim]) -> tuple[Problem, set[str]]:
    """The asker beside the plan's victims alone, and those of them that have left since the tick."""
    assert plan.made.asker is not None
    snapshot = beside(state, plan)
    named = {victim.run for victim in plan.made.victims}
    units = [unit for unit in snapshot.units if named & set(unit.runs)]
    stays = {victim.run for victim in left}
    gone = {unit.name for unit in units if not stays & set(unit.runs)}
    choices = tuple(Choice(unit, Class.UNFUNDED) for unit in units)
    return Problem(asker_of(plan.made.asker), snapshot.nodes, choices, (), 0), gone


def _needed(problem: Problem, gone: set[str]) -> set[str]:
    """The units without which it would not fit, the last in rank let off first; gone ones included."""
    kept = {choice.unit.name for choice in problem.choices}
    for choice in reversed(problem.choices):
        if choice.unit.name not in gone and problem.fits(kept - {choice.unit.name}):
            kept.discard(choice.unit.name)
    return kept


def _unit_of(problem: Problem, run: RunName) -> str:
    return next((choice.unit.name for choice in problem.choices if run in choice.unit.runs), "")


# ---------------------------------------------------------------- what came of them


def _settled(state: State, plan: Plan, now_s: int) -> list[Act]:
    found: list[Act] = []
    for run, order in plan.issued.items():
        if run in plan.settled:
            continue
        booked = run_of(state, run)
        if booked is not None and booked.end_s <= now_s:
            found.append(_left(state, plan, run, order, booked, now_s))
        elif not _paused(state, now_s) and now_s >= _gone_by_s(state, order, now_s):
            sentence = f"{run[0]}/{run[1]} still runs, {now_s - order.at_s} s after it was ordered off."
            found.append(writing.settled(state, plan, run, "timed_out", sentence, now_s))
    return found


def _left(state: State, plan: Plan, run: RunName, order: Issued, booked: DerivedRun, now_s: int) -> Act:
    after_s = booked.end_s - order.at_s
    name = f"{run[0]}/{run[1]}"
    if booked.outcome != PREEMPTED:
        sentence = f"{name} ended by itself: {booked.outcome or 'nobody says how'}."
        return writing.settled(state, plan, run, "ended_by_itself", sentence, now_s)
    if booked.end_s > graced_s(state, order, now_s) + CLOCKS_APART_S:
        sentence = f"{name} did not leave within {order.grace_s} s and was killed."
        return writing.settled(state, plan, run, "ignored_signal", sentence, now_s)
    return writing.settled(state, plan, run, "preempted", f"{name} left after {max(0, after_s)} s.", now_s)


def _gone_by_s(state: State, order: Issued, now_s: int) -> int:
    """By when a run is gone that was killed at the end of its grace."""
    return graced_s(state, order, now_s) + KILL_S


def graced_s(state: State, order: Issued, now_s: int) -> int:
    """When its grace is over. Time in which enforcement was paused does not count: nobody was told to leave then."""
    return max(order.at_s, state.policies.since_s("enforcement", now_s)) + order.grace_s


def _paused(state: State, now_s: int) -> bool:
    return state.policy_at(now_s).enforcement == PAUSED


# ---------------------------------------------------------------- the end


def _over(state: State, plan: Plan, now_s: int) -> Act | None:
    """Why a plan is over whose orders are all settled."""
    asker = plan.made.asker
    stayed = [run for run, one in plan.settled.items() if one.outcome in STAYS]
    if stayed:
        names = ", ".join(f"{job}/{attempt}" for job, attempt in stayed)
        return writing.expired(state, plan, "refused", f"These did not leave: {names}.", now_s, _wasted(plan, now_s))
    if asker is not None and _started(state, plan, now_s):
        return writing.expired(state, plan, "asker_started", f"{asker.job} runs.", now_s)
    if asker is not None and not _waits(state, asker.job, now_s):
        sentence = f"{asker.job} does not wait any more."
        return writing.expired(state, plan, "asker_gone", sentence, now_s, _wasted(plan, now_s))
    if not plan.issued and state.policy_at(now_s).enforcement != ENFORCE:
        sentence = "Enforcement was switched off before anybody had to leave."
        return writing.expired(state, plan, "stopped", sentence, now_s)
    return None


def _held(state: State, plan: Plan, now_s: int) -> list[Act]:
    """The room was kept for nothing, or somebody else has it; otherwise its asker has to start."""
    held = plan.held
    assert held is not None
    lost = _lost_rooms(beside(state, plan), plan) if state.ticked_s >= held.at_s else []
    if lost:
        sentence = f"Somebody else has what was kept on {', '.join(lost)}, or it is out of service."
        return [writing.expired(state, plan, "taken", sentence, now_s, _wasted(plan, now_s))]
    if now_s >= held.until_s:
        sentence = f"The asker did not start within {plan.made.hold_s} s."
        return [writing.expired(state, plan, "hold_expired", sentence, now_s, _wasted(plan, now_s))]
    return []


def _lost_rooms(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Nodes that no longer have what is kept on them, where the asker fits nowhere else either."""
    assert plan.made.asker is not None
    nodes = {node.name: node for node in snapshot.nodes}
    lost = [name for name, milli in plan.made.hosts if not _has(nodes.get(name), milli)]
    fits = Problem(asker_of(plan.made.asker), snapshot.nodes, (), (), 0).fits(())
    return [] if fits else lost


def _has(node: Node | None, milli: int) -> bool:
    return node is not None and node.usable and node.free_milli >= milli


def _wasted(plan: Plan, now_s: int) -> int:
    """GPU time for which room was kept and the asker did not run there, up to when that is seen."""
    held = plan.held
    return sum(milli for _, milli in held.nodes) * max(0, now_s - held.at_s) if held is not None else 0


def _started(state: State, plan: Plan, now_s: int) -> bool:
    """Whether the asker runs, or has since it was planned for."""
    assert plan.made.asker is not None
    runs = state.read(plan.made.asker.job).runs if plan.made.asker.job in state.jobs else ()
    return any(run.start_s <= now_s and (run.end_s > now_s or run.start_s > plan.made.at_s) for run in runs)


def _waits(state: State, job: str, now_s: int) -> bool:
    return job in state.jobs and any(wait.a_s <= now_s < wait.b_s for wait in state.read(job).waits)


# ---------------------------------------------------------------- observing


def _observed(state: State, plan: Plan, now_s: int) -> list[Act]:
    """A plan that touches nothing is over once it would no longer be made: by its asker, its victims, or by time."""
    asker = plan.made.asker
    if asker is not None and _started(state, plan, now_s):
        return [writing.expired(state, plan, "asker_started", f"{asker.job} runs.", now_s)]
    if asker is not None and not _waits(state, asker.job, now_s):
        return [writing.expired(state, plan, "asker_gone", f"{asker.job} does not wait any more.", now_s)]
    if state.policy_at(now_s).enforcement != OBSERVE:
        sentence = "The cluster does not observe any more: its asker may be planned for anew."
        return [writing.expired(state, plan, "stopped", sentence, now_s)]
    left = any(runs_on(state, victim.run, now_s) for victim in plan.made.victims)
    if not left or now_s >= _observed_until_s(plan):
        return [writing.expired(state, plan, "observed", "Nothing was touched.", now_s)]
    return []


def _observed_until_s(plan: Plan) -> int:
    """Until the asker's contract would be over, had it been carried out; of a drain, for a day."""
    made = plan.made
    contract_s = made.asker.min_runtime_s if made.asker is not None else DAY_S
    return made.committed_s + made.grace_s + made.hold_s + contract_s
