"""Plans and their steps as events, each under the id the same step always has. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from enforcer import windows
from enforcer.explain import sentences
from enforcer.gather import lost_gpu_ms
from enforcer.plan import Plan, taken
from enforcer.reaction import ready_s
from enforcer.snapshot import Snapshot, Unit
from ledger.acts import Plan as Committed
from ledger.acts import RunName, Victim
from ledger.events import CapacityHeld, PlanCommitted, PlanExpired, PreemptionIssued, PreemptionSettled
from ledger.events.acts import (
    CapacityHeldData,
    Mode,
    PlanAsker,
    PlanCommittedData,
    PlanExpiredData,
    PlanVictim,
    PreemptionIssuedData,
    PreemptionSettledData,
    Protection,
    Room,
    Settlement,
    Why,
)
from ledger.ranking import Ratio
from ledger.runs import DerivedRun
from ledger.state import State
from ledger.units import instant

SOURCE: Final = "tenure/enforcer"
LONGEST: Final = 4_096
"""Characters of a sentence."""
LONGEST_ID: Final = 512
LONGEST_DETAIL: Final = 1 << 16
SPARED: Final = ("theirs", "alternatives", "sides")
"""What a plan of very many victims with very long names leaves out of its detail, in this order."""
DRAIN: Final = "drain"


def committed(state: State, snapshot: Snapshot, plan: Plan, mode: Mode, now_s: int, ready_s: int) -> PlanCommitted:
    """A plan for an asker, for which all were ready at an instant."""
    policy, asker = state.policy_at(now_s), plan.asker
    of_run = {(run.job, run.attempt): run for run in _runs(state, (v.unit.runs for v in plan.victims))}
    victims = [
        _victim(of_run[run], snapshot.at_s, victim.class_.name.lower(), victim.rule)
        for victim in plan.victims
        for run in victim.unit.runs
    ]
    data = PlanCommittedData(
        cluster=state.cluster,
        plan=f"{snapshot.pool}/{snapshot.seq}/{asker.job}",
        pool=snapshot.pool,
        purpose="asker",
        mode=mode,
        seq=snapshot.seq,
        at=instant(snapshot.at_s),
        due=instant(ready_s),
        asker=PlanAsker(
            job=asker.job,
            account=asker.account,
            pieces=asker.pieces,
            piece_milli=asker.piece_milli,
            min_runtime_s=asker.min_runtime_s,
            apart=asker.apart,
        ),
        victims=tuple(victims),
        hosts=rooms(taken(asker, plan.hosts)),
        rule=plan.rule,
        sentences=tuple(sentence[:LONGEST] for sentence in sentences(plan)),
        detail=detail(plan, snapshot),
        grace_s=policy.grace_s,
        hold_s=policy.hold_s,
    )
    return PlanCommitted(id=data.plan, source=SOURCE, time=instant(now_s), data=data)


def draining(state: State, snapshot: Snapshot, node: str, units: list[Unit], mode: Mode, now_s: int) -> PlanCommitted:
    """A plan that makes a node empty of what may be interrupted."""
    policy = state.policy_at(now_s)
    victims = tuple(
        _victim(run, snapshot.at_s, "within" if run.funded else "unfunded", DRAIN)
        for run in _runs(state, (unit.runs for unit in units))
    )
    data = PlanCommittedData(
        cluster=state.cluster,
        plan=f"drain/{snapshot.seq}/{node}",
        pool=snapshot.pool,
        purpose="drain",
        mode=mode,
        seq=snapshot.seq,
        at=instant(snapshot.at_s),
        due=instant(max(ready_s(units), windows.emptied_s(state, node))),
        victims=victims,
        hosts=(),
        rule=DRAIN,
        sentences=(why_emptied(state, node)[:LONGEST],),
        grace_s=policy.grace_s,
        hold_s=policy.hold_s,
    )
    return PlanCommitted(id=data.plan, source=SOURCE, time=instant(now_s), data=data)


def why_emptied(state: State, node: str) -> str:
    """Why a node is emptied, and of what."""
    found, told = windows.emptying(state).get(node), f"{node} drains"
    if found is not None:
        span = f"from {instant(found.since_s):%Y-%m-%d %H:%M} to {instant(found.until_s):%Y-%m-%d %H:%M} UTC"
        told = f"{node} is in maintenance {span} ({found.window})"
    return f"{told}: what runs on it and is not inside its minimum runtime leaves."


def _runs(state: State, names: Iterable[Iterable[RunName]]) -> list[DerivedRun]:
    wanted = [name for some in names for name in some]
    return [run for job, attempt in wanted for run in state.read(job).runs if run.attempt == attempt]


def _victim(run: DerivedRun, at_s: int, protection: str, rule: str) -> PlanVictim:
    protections: dict[str, Protection] = {"unfunded": "unfunded", "over": "over", "within": "within"}
    return PlanVictim(
        job=run.job,
        attempt=run.attempt,
        account=run.account if run.funded else None,
        protection=protections[protection],
        rule=rule,
        gpus_milli=run.gpus_milli,
        lost_gpu_ms=lost_gpu_ms(run, at_s),
        resumable=run.terms.resumable,
    )


def rooms(milli: Mapping[str, int]) -> tuple[Room, ...]:
    """Parts of nodes, by name."""
    return tuple(Room(node=node, gpus_milli=milli[node]) for node in sorted(milli))


def detail(plan: Plan, snapshot: Snapshot) -> str:
    """What a program wants to know of a plan: its asker's place in line, exact ratios of both paths, windows,
    objective, alternatives, what was closed.

    ρ of those who yield is the same before and after: no contract of theirs binds anything any more.
    """
    found = {
        "place": 1 + [asker.job for asker in snapshot.askers].index(plan.asker.job),
        "askers": len(snapshot.askers),
        "before": {account: _ratio(ratio) for account, ratio in plan.before},
        "after": {account: _ratio(ratio) for account, ratio in plan.after},
        "sides": {victim.side: _ratio(victim.ratio) for victim in plan.victims if victim.side},
        "theirs": {
            account: _ratio(snapshot.ratio(account))
            for victim in plan.victims
            for account in victim.unit.path
            if account not in plan.asker.path
        },
        "windows": {account: str(windows) for account, windows in plan.windows},
        "objective": plan.objective,
        "alternatives": [
            {"units": other.units[:100], "objective": other.objective, "why": other.why} for other in plan.alternatives
        ],
        "closed": dict(plan.closed),
    }
    for spared in SPARED:
        if len(json.dumps(found, sort_keys=True)) > LONGEST_DETAIL:
            del found[spared]
    return json.dumps(found, sort_keys=True)


def _ratio(ratio: Ratio) -> list[int]:
    return [ratio.used_gpu_ms, ratio.committed_gpu_ms, ratio.claim_gpu_ms]


# ---------------------------------------------------------------- steps


def _id(plan: Committed, *parts: str) -> str:
    """The same step has the same id; one that is too long for an event is named by its hash."""
    told = "/".join((plan.made.plan, *parts))
    return told if len(told) <= LONGEST_ID else blake2b(told.encode(), digest_size=16).hexdigest()


def issued(state: State, plan: Committed, victim: Victim, now_s: int) -> PreemptionIssued:
    """The run is to leave: requeued if it can go on elsewhere, else cancelled."""
    data = PreemptionIssuedData(
        cluster=state.cluster,
        plan=plan.made.plan,
        job=victim.job,
        attempt=victim.attempt,
        how="requeue" if victim.resumable else "cancel",
        grace_s=plan.made.grace_s,
    )
    event_id = _id(plan, "issued", victim.job, victim.attempt)
    return PreemptionIssued(id=event_id, source=SOURCE, time=instant(now_s), data=data)


def settled(
    state: State, plan: Committed, run: RunName, outcome: Settlement, sentence: str, now_s: int
) -> PreemptionSettled:
    """What came of an order."""
    data = PreemptionSettledData(
        cluster=state.cluster, plan=plan.made.plan, job=run[0], attempt=run[1], outcome=outcome, sentence=sentence
    )
    event_id = _id(plan, "settled", *run)
    return PreemptionSettled(id=event_id, source=SOURCE, time=instant(now_s), data=data)


def held(state: State, plan: Committed, now_s: int) -> CapacityHeld:
    """The room a plan makes is kept for its asker; the service fills in what the scheduler calls it."""
    until_s = now_s + plan.made.hold_s
    nodes = rooms(dict(plan.made.hosts))
    data = CapacityHeldData(cluster=state.cluster, plan=plan.made.plan, nodes=nodes, until=instant(until_s))
    return CapacityHeld(id=f"{plan.made.plan}/held", source=SOURCE, time=instant(now_s), data=data)


def expired(state: State, plan: Committed, why: Why, sentence: str, now_s: int, wasted_gpu_ms: int = 0) -> PlanExpired:
    """The plan is over."""
    data = PlanExpiredData(
        cluster=state.cluster, plan=plan.made.plan, why=why, wasted_gpu_ms=wasted_gpu_ms, sentence=sentence
    )
    return PlanExpired(id=f"{plan.made.plan}/expired", source=SOURCE, time=instant(now_s), data=data)
