"""What the picture shows of each pool: the waterfall's steps, teams, and occupancy over time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ledger.units import HOUR_S
from tenure.report.accounts import AccountLine
from tenure.report.gather import Gathered
from tenure.report.values import CapacityHour, Question
from tenure.report.waterfall import Pool, Usage

POINTS: Final = 192
"""As many bars as fit side by side; longer periods are summed over several hours."""
STEPS_H: Final = (1, 2, 3, 4, 6, 8, 12, 24, 48, 168)


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of the waterfall, and what was lost on the way to it; of what was not sampled nothing is known."""

    name: str
    amount_gpu_ms: int
    lost: tuple[tuple[str, int], ...] = ()
    unsampled_gpu_ms: int = 0


@dataclass(frozen=True, slots=True)
class Team:
    """A leaf account's claim, what of it was owed, and what was delivered."""

    account: str
    claim_gpu_ms: int
    owed_gpu_ms: int
    delivered_gpu_ms: int
    met_gpu_ms: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Mean GPUs by class over `hours` closed hours that begin at `at_s`."""

    at_s: int
    hours: int
    protected: float
    interruptible: float
    suspended: float
    unfunded: float
    available: float
    capacity: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The picture of one pool; `subject` '' is all accounts."""

    pool: str
    subject: str
    steps: tuple[Step, ...]
    teams: tuple[Team, ...]
    slots: tuple[Slot, ...]
    step_h: int


def charts(
    gathered: Gathered, found: dict[str, Pool], lines: Iterable[AccountLine], usage: dict[str, Usage] | None
) -> tuple[Chart, ...]:
    """A chart per pool."""
    lines = list(lines)
    step_h = _step_h(gathered.question)
    return tuple(
        Chart(
            name,
            gathered.question.account,
            tuple(_steps(gathered.question, pool, _claim(gathered.question, name, lines), (usage or {}).get(name))),
            _teams(name, lines),
            _slots(gathered, name, step_h),
            step_h,
        )
        for name, pool in found.items()
    )


def _claim(question: Question, pool: str, lines: Iterable[AccountLine]) -> int:
    tops = (line.sums for line in lines if line.pool == pool and line.account == question.account)
    return sum(sums.claim + sums.grant for sums in tops)


def _steps(question: Question, pool: Pool, claim: int, usage: Usage | None) -> Iterator[Step]:
    """From capacity down; of a subtree from its claim, beside which the whole pool would make it small."""
    if question.account:
        yield Step("claim", claim)
        yield Step("occupied", pool.occupied, (("not held", max(0, claim - pool.occupied)),))
    else:
        yield Step("capacity", pool.capacity)
        yield Step("available", pool.available, (("planned", pool.planned), ("unplanned", pool.unplanned)))
        yield Step("occupied", pool.occupied, (("free", max(0, pool.available - pool.occupied)),))
    yield Step("funded", pool.funded, (("unfunded", pool.unfunded), ("suspended", pool.suspended)))
    if usage is not None:
        unsampled = max(0, pool.funded - usage.funded_sampled)
        unused = max(0, pool.funded - unsampled - usage.funded_utilized)
        yield Step("utilized", usage.funded_utilized, (("not utilized", unused),), unsampled)


def _teams(pool: str, lines: Iterable[AccountLine]) -> tuple[Team, ...]:
    """Leaves that claimed or got something, the largest claim first."""
    teams = [
        Team(line.account, line.sums.claim + line.sums.grant, line.sums.owed, line.sums.delivered, line.sums.met)
        for line in lines
        if line.pool == pool and line.is_leaf
    ]
    kept = [team for team in teams if team.claim_gpu_ms or team.delivered_gpu_ms]
    return tuple(sorted(kept, key=lambda team: (-team.claim_gpu_ms, team.account)))


def _step_h(question: Question) -> int:
    hours = (question.until_s - question.from_s) // HOUR_S
    return next((step for step in STEPS_H if hours <= step * POINTS), STEPS_H[-1])


def _slots(gathered: Gathered, pool: str, step_h: int) -> tuple[Slot, ...]:
    """Means over `step_h` hours from the period's beginning on; hours that are not there leave a gap."""
    question, length_s = gathered.question, step_h * HOUR_S
    mine = _by_class(gathered, pool)
    slots: dict[int, list[CapacityHour]] = {}
    for hour in gathered.capacity:
        if hour.pool == pool:
            at_s = question.from_s + (hour.hour_s - question.from_s) // length_s * length_s
            slots.setdefault(at_s, []).append(hour)
    return tuple(_slot(at_s, hours, mine) for at_s, hours in sorted(slots.items()))


def _by_class(gathered: Gathered, pool: str) -> dict[tuple[int, str], int]:
    """GPU-milliseconds by hour and class: the subtree's, or everybody's."""
    if gathered.occupied is not None:
        return {(o.hour_s, o.class_): o.amount_gpu_ms for o in gathered.occupied if o.pool == pool}
    return {
        (hour.hour_s, name): amount
        for hour in gathered.capacity
        if hour.pool == pool
        for name, amount in (
            ("protected", hour.protected_gpu_ms),
            ("interruptible", hour.interruptible_gpu_ms),
            ("suspended", hour.suspended_gpu_ms),
            ("unfunded", hour.unfunded_gpu_ms),
        )
    }


def _slot(at_s: int, hours: list[CapacityHour], by_class: dict[tuple[int, str], int]) -> Slot:
    def gpus(amounts_gpu_ms: Iterable[int]) -> float:
        return sum(amounts_gpu_ms) / (len(hours) * HOUR_S * 1_000)

    def held(name: str) -> float:
        return gpus(by_class.get((hour.hour_s, name), 0) for hour in hours)

    return Slot(
        at_s,
        len(hours),
        held("protected"),
        held("interruptible"),
        held("suspended"),
        held("unfunded"),
        gpus(hour.capacity_gpu_ms - hour.planned_gpu_ms - hour.unplanned_gpu_ms for hour in hours),
        gpus(hour.capacity_gpu_ms for hour in hours),
    )
