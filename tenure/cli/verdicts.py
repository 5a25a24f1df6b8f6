"""Why nobody yields to a waiting job, and when that could change: gathered at the last tick, and in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from enforcer.crowd import Crowd
from enforcer.gates import Refusal
from enforcer.gather import snapshot_of
from enforcer.opening import opened, reclaim_of
from enforcer.outlook import Earliest, earliest
from enforcer.plan import Plan, plan
from enforcer.rules import Rules, rules_of
from enforcer.snapshot import Snapshot, Unit
from enforcer.steps import next_due_s
from ledger.acts import Plan as Open
from ledger.runs import UNFUNDED
from ledger.standing import HELD, NO_POOL, NOT_PLACEABLE, REASONS, QueueEntry, queue
from ledger.state import State
from ledger.units import FOREVER_S
from tenure.cli.output import iso_s
from tenure.cli.rebalancing import rebalance
from tenure.cli.text import duration, moment, of_gpus, plural, ratio, second
from tenure.cli.why import FUNDING

BY_RULE: Final = frozenset({"G2", "G7"})
"""Gates behind which it is about whom it may take from."""
NO_TIME: Final = frozenset({"fits", "planned"})
"""Refusals that are over by what others do, whatever the clock says."""
NOT_IN_LINE: Final = {
    HELD: "it has to be released",
    NO_POOL: "it has to name a GPU type",
    NOT_PLACEABLE: "nodes have to come back, or it has to ask for less",
}
"""What lets a job take part in the ranking, by why it does not."""
DONE: Final = {
    "observe": "Nothing is done: enforcement is observe.",
    "enforce": "The enforcer orders it as soon as it looks.",
    "paused": "Nothing is done: enforcement is paused.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A waiting job before the gates: the plan there would be for it, or why there is none.

    Of a job that takes no part in the ranking there is neither. `open` is a plan for it that is not over, `earliest`
    what time alone would do. `snapshot` is its pool as it stands, before those ahead of it were given anything.
    """

    entry: QueueEntry
    at_s: int
    enforcement: str
    plan: Plan | None = None
    refusal: Refusal | None = None
    open: Open | None = None
    earliest: Earliest | None = None
    snapshot: Snapshot | None = None
    rules: Rules | None = None
    due_s: int | None = None
    """When the next step of its open plan is due by time alone."""


def verdict(fresh: Callable[[], State], job: str) -> Verdict | None:
    """The job before the gates, after all that are ahead of it; None if it does not wait.

    `fresh` gives the facts each time anew, as looking ahead uses them up.
    """
    state = fresh()
    policy = state.policy_at(state.ticked_s)
    entry = next((e for e in queue(state) if e.job.job == job), None)
    if entry is None or entry.ranked is None:
        return None if entry is None else Verdict(entry, state.ticked_s, policy.enforcement)
    snapshot, rules = snapshot_of(state, entry.pool), rules_of(policy)
    made, refused = plan(snapshot, rules, until=job)
    refusal = next((it for it in refused if it.job == job), None)
    by_time = refusal is not None and refusal.name not in NO_TIME
    open_ = state.acts.open_for(job)
    return Verdict(
        entry,
        state.ticked_s,
        policy.enforcement,
        next((it for it in made if it.asker.job == job), None),
        refusal,
        open_,
        earliest(fresh, entry.pool, job) if by_time else None,
        snapshot,
        rules,
        None if open_ is None else next_due_s(state, open_, state.ticked_s),
    )


def told(found: Verdict) -> Iterator[str]:
    """Why nobody yields to it, and when that could change."""
    entry, refusal = found.entry, found.refusal
    if entry.ranked is None:
        asks = of_gpus(entry.job.gpus_milli)
        if entry.terms.shape_nodes:
            asks = f"{entry.terms.shape_nodes} × {of_gpus(entry.terms.shape_gpus_milli)}"
        yield f"{entry.job.job} takes no part in the ranking ({entry.reason}): {REASONS[entry.reason]}."
        yield f"It asks for {asks}."
        if entry.eligible_s is not None:
            yield f"It may start from {_at(entry.eligible_s, found.at_s)} on."
        else:
            yield f"Not by time alone: {NOT_IN_LINE.get(entry.reason, 'see `tenure explain`')}."
    elif refusal is not None:
        yield f"{refusal.job} fails {refusal.gate} ({refusal.name}): {_why(refusal, entry)}."
        if refusal.until_s is not None:
            yield f"That is over at {_at(refusal.until_s, found.at_s)}."
        if found.open is not None:
            yield _open(found.open, found.due_s, found.at_s)
        yield from _rules(found)
        yield from _outlook(found)


def _why(refusal: Refusal, entry: QueueEntry) -> str:
    """The gate's sentence; of work that no budget pays for, why none does."""
    if refusal.name != UNFUNDED:
        return refusal.sentence
    return f"{refusal.sentence}; {FUNDING.get(entry.funding_reason, 'nobody says why')}"


def _at(at_s: int, now_s: int) -> str:
    return f"{second(at_s)} UTC, {duration(max(0, at_s - now_s))} after the last tick"


def _open(plan: Open, due_s: int | None, now_s: int) -> str:
    made = plan.made
    until = "" if due_s is None else f"; what comes next is due by {_at(due_s, now_s)}"
    if not plan.enforces:
        return f"Plan {made.plan} of {moment(made.committed_s)} UTC is only told, and nobody has to leave{until}."
    orders = plural(len(plan.issued), "order")
    done = f"{len(plan.settled)} of {orders} settled" if plan.issued else "nobody was told yet"
    held = f", and its room is kept until {moment(plan.held.until_s)} UTC" if plan.held is not None else ""
    return f"Plan {made.plan} of {moment(made.committed_s)} UTC: {done}{held}{until}."


# ---------------------------------------------------------------- the rules


def _rules(found: Verdict) -> Iterator[str]:
    """ρ where a rule is in the way, and who is protected until when."""
    snapshot, rules, refusal = found.snapshot, found.rules, found.refusal
    if snapshot is None or rules is None or refusal is None or refusal.gate not in BY_RULE:
        return
    asker = next(one for one in snapshot.askers if one.job == refusal.job)
    reclaim = reclaim_of(asker, snapshot, rules)
    after = {account: value for account, value, _ in reclaim.path}
    if reclaim.above is not None:
        rho = ratio(after[reclaim.above])
        yield f"R1 is closed to it: ρ of {reclaim.above} would be {rho} with this contract, and 1 is the most."
    open_ = {one.account for one in opened(asker, Crowd(snapshot, rules), reclaim)} | {asker.account}
    banked = {u.account for u in snapshot.units if u.account and found.at_s >= u.contract_end_s}
    if banked - open_ and rules.rebalance:
        yield rebalance(asker, banked & open_, banked - open_, snapshot, rules)
    kept = [u for u in snapshot.units if u.account and found.at_s < u.contract_end_s < FOREVER_S]
    if kept:
        first = min(kept, key=lambda unit: (unit.contract_end_s, unit.name))
        when = _at(first.contract_end_s, found.at_s)
        yield f"The first to have banked its minimum runtime is {_unit(first)}, at {when}."


def _unit(unit: Unit) -> str:
    return f"{unit.name} ({unit.account or 'unfunded'}, {of_gpus(unit.gpus_milli)})"


# ---------------------------------------------------------------- time


def _outlook(found: Verdict) -> Iterator[str]:
    """What time alone changes."""
    refusal, entry = found.refusal, found.entry
    if refusal is None or refusal.name in NO_TIME or entry.ranked is None:
        return
    ahead = entry.ranked.position - 1
    first = f" {plural(ahead, 'job')} ahead of it {'asks' if ahead == 1 else 'ask'} first." if ahead else ""
    seen = found.earliest
    if seen is None:
        return
    if seen.by_s is None:
        assert isinstance(seen.found, Refusal)
        gate = f"{seen.found.gate} ({seen.found.name})"
        yield f"Not by time alone: a day on it would fail {gate}, if nobody starts, ends or asks until then."
    elif seen.by_s <= found.at_s:
        yield f"Alone it would not wait for anybody: {_then(seen, found.at_s, seen.by_s)}.{first}"
    else:
        when = (
            f"at {_at(seen.by_s, found.at_s)}"
            if seen.at_once
            else f"between {moment(seen.after_s)} and {moment(seen.by_s)} UTC"
        )
        yield f"At the earliest {when}, if nothing but time passes: then {_then(seen, found.at_s, seen.by_s)}.{first}"


def _then(seen: Earliest, now_s: int, by_s: int) -> str:
    if isinstance(seen.found, Refusal):
        return "it fits on what is free"
    yielding = [
        f"{_unit(victim.unit)} yields by {victim.rule}"
        + (", its minimum runtime banked" if now_s < victim.unit.contract_end_s <= by_s else "")
        + (", its work just saved" if victim.unit.name in seen.saved else "")
        for victim in seen.found.victims
    ]
    more = f", and {len(yielding) - 3} more" if len(yielding) > 3 else ""  # noqa: PLR2004 -- three are read, ten are not
    return "; ".join(yielding[:3]) + more


def json_of(seen: Earliest | None) -> dict[str, object] | None:
    """What time alone changes, for programs."""
    if seen is None:
        return None
    found = seen.found
    return {
        "after": iso_s(seen.after_s),
        "by": iso_s(seen.by_s),
        "exactly": seen.at_once,
        "victims": [victim.unit.name for victim in found.victims] if isinstance(found, Plan) else [],
        "gate": found.gate if isinstance(found, Refusal) else None,
    }
