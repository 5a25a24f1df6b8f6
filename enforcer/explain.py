"""A plan, and the lack of one, in sentences with their numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from enforcer.classes import Class
from enforcer.opening import DEBUG_LANE, FREE, INSIDE, REBALANCE, RECLAIM
from enforcer.plan import Plan, Victim
from ledger.ranking import Ratio
from ledger.units import GPU_MILLI, HOUR_S

RULES: Final = {
    FREE: "unfunded work yields to any funded asker",
    RECLAIM: "work over its claim yields while the asker stays within its own, its new contract included",
    REBALANCE: "work yields to an account that is still further below its claim after the swap",
    DEBUG_LANE: "banked work yields to a small debug run",
    INSIDE: "banked work yields to a debug run or a higher priority of the same account",
}
CLASSES: Final = {
    Class.UNFUNDED: "unfunded",
    Class.OVER: "over its claim",
    Class.WITHIN: "within its claim, its minimum runtime banked",
    Class.CONTRACT: "inside its minimum runtime",
}
CLOSED: Final = {
    "contract": "inside their minimum runtime",
    "preempted_often": "preempted three times in a day already",
    "loss_exceeds_gain": "with more work to lose than the asker gains",
    "own_account": "of the asker's own account",
    "ratio": "of accounts that are not further above their claim than the asker",
}
"""Why units are closed to an asker, by name."""


def sentences(plan: Plan) -> Iterator[str]:
    """The plan, told to somebody who lost a run by it."""
    asker = plan.asker
    yield (
        f"{asker.job} of {asker.account} asks for {_gpus(asker.gpus_milli)} GPUs "
        f"({asker.pieces} × {_gpus(asker.piece_milli)}) for at least {_hours(asker.min_runtime_s)} h."
    )
    before = dict(plan.before)
    for account, after in plan.after:
        yield f"ρ of {account} is {_ratio(before[account])}, and {_ratio(after)} with this contract."
    for account, windows in plan.windows:
        if windows > 1:
            yield f"The contract is larger than what {account} may claim in one window: it is held to {_part(windows)}."
    for victim in plan.victims:
        yield _victim(victim)
    hosts = ", ".join(f"{name} ({_gpus(pieces * asker.piece_milli)} GPUs)" for name, pieces in plan.hosts)
    yield f"It then fits on {hosts}; {_gpu_hours(plan.lost_gpu_ms)} GPU-hours of work are lost."
    for other in plan.alternatives:
        yield considered(other.units, other.why, plan.objective, other.objective)


def _victim(victim: Victim) -> str:
    unit = victim.unit
    whose = f"{unit.account}, {CLASSES[victim.class_]}" if unit.account else CLASSES[victim.class_]
    told = f"{unit.name} ({whose}) yields {_gpus(unit.gpus_milli)} GPUs by {victim.rule}: {RULES[victim.rule]}"
    if victim.class_ > Class.UNFUNDED:
        told += f"; ρ of {victim.side} is {_ratio(victim.ratio)}"
    return f"{told}; it loses {_gpu_hours(unit.lost_gpu_ms)} GPU-hours."


def considered(units: Sequence[str], why: str, chosen: Sequence[int], other: Sequence[int]) -> str:
    """A choice that was not taken, and the first thing in which it is worse."""
    return f"Also considered: {', '.join(units)} ({why}); it is worse: {_worse(chosen, other)}."


def _worse(chosen: Sequence[int], other: Sequence[int]) -> str:
    names = ("units within their claim", "units over their claim", "cost", "GPUs freed", "places in rank")
    for name, mine, theirs in zip(names, chosen, other, strict=True):
        if mine != theirs:
            scale = GPU_MILLI if name == "GPUs freed" else 1
            return f"{name} {theirs / scale:g} instead of {mine / scale:g}"
    return "it is as good, and later by name"


def _ratio(ratio: Ratio) -> str:
    return f"{ratio.display():.3f}"


def _gpus(milli: int) -> str:
    return f"{milli / GPU_MILLI:g}"


def _hours(seconds: int) -> str:
    return f"{seconds / HOUR_S:g}"


def _gpu_hours(amount_gpu_ms: int) -> str:
    return f"{amount_gpu_ms / (GPU_MILLI * HOUR_S):,.1f}"


def _part(windows: Fraction) -> str:
    return f"{float(windows):.2f} windows"
