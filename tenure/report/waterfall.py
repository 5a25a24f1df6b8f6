"""From capacity down to what was used, pool by pool. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.units import HOUR_S
from tenure.report.tables import POOL, Cell, Column, Part, Section, section
from tenure.report.values import CapacityHour, OccupiedHour, Question


@dataclass(slots=True)
class Pool:
    """A pool's hours summed, GPU-milliseconds; the four classes are the subtree's, the rest the whole pool's."""

    capacity: int = 0
    planned: int = 0
    unplanned: int = 0
    idle: int = 0
    overbooked: int = 0
    protected: int = 0
    interruptible: int = 0
    suspended: int = 0
    unfunded: int = 0
    hours: int = 0

    @property
    def available(self) -> int:
        """What healthy nodes offered."""
        return self.capacity - self.planned - self.unplanned

    @property
    def funded(self) -> int:
        """What budgets paid for."""
        return self.protected + self.interruptible

    @property
    def occupied(self) -> int:
        """What runs held, suspended ones too."""
        return self.funded + self.suspended + self.unfunded


@dataclass(frozen=True, slots=True)
class Usage:
    """What samples say of a pool's occupied time: GPU-milliseconds, sampled ones being part of those occupied."""

    funded_sampled: int
    funded_utilized: int


COLUMNS: Final = (
    POOL,
    Column("stage", "stage", "text"),
    Column("amount_gpu_ms", "GPU-hours", "gpu_ms"),
    Column("part", "part", "part"),
    Column("part_of", "of", "text"),
    Column("coverage", "coverage", "part"),
)


def pools(hours: Iterable[CapacityHour], mine: Iterable[OccupiedHour] | None) -> dict[str, Pool]:
    """Sums by pool; `mine` is what the subtree occupied, None where that is everything."""
    found: dict[str, Pool] = {}
    for hour in hours:
        pool = found.setdefault(hour.pool, Pool())
        pool.capacity += hour.capacity_gpu_ms
        pool.planned += hour.planned_gpu_ms
        pool.unplanned += hour.unplanned_gpu_ms
        pool.idle += hour.idle_gpu_ms
        pool.overbooked += hour.overbooked_gpu_ms
        pool.hours += 1
        if mine is None:
            pool.protected += hour.protected_gpu_ms
            pool.interruptible += hour.interruptible_gpu_ms
            pool.suspended += hour.suspended_gpu_ms
            pool.unfunded += hour.unfunded_gpu_ms
    for part in mine or ():
        pool = found.setdefault(part.pool, Pool())
        setattr(pool, part.class_, getattr(pool, part.class_) + part.amount_gpu_ms)
    return {name: found[name] for name in sorted(found)}


def waterfall_section(
    question: Question, found: dict[str, Pool], claims: dict[str, int], usage: dict[str, Usage] | None
) -> Section:
    """The waterfall; `usage` None leaves out what was utilized, which is not kept as it was known."""
    rows = [
        (name, *row)
        for name, pool in found.items()
        for row in _stages(question, pool, claims.get(name, 0), None if usage is None else usage.get(name))
    ]
    notes = ["coverage: closed hours of the period; of what was utilized, the funded time that was sampled."]
    if question.account:
        notes.append(f"Capacity to available is the whole pool's; the rest is of {question.account} alone.")
    if usage is None:
        notes.append("What was utilized is kept as now known only: leave --known-at away to see it.")
    return section(
        "waterfall",
        "From capacity to use",
        COLUMNS,
        rows,
        notes=tuple(notes),
        empty="No hour of the period is closed.",
        apart=True,
    )


def _stages(question: Question, pool: Pool, claim: int, usage: Usage | None) -> Sequence[tuple[Cell, ...]]:
    closed = Part(pool.hours, max(0, question.asked_until_s - question.from_s) // HOUR_S)
    capacity, available, occupied = pool.capacity, pool.available, pool.occupied
    stages: list[tuple[Cell, ...]] = [
        ("capacity", capacity, None, "", closed),
        ("  unavailable, planned", pool.planned, Part(pool.planned, capacity), "capacity", closed),
        ("  unavailable, unplanned", pool.unplanned, Part(pool.unplanned, capacity), "capacity", closed),
        ("available", available, Part(available, capacity), "capacity", closed),
    ]
    if question.account:
        stages.append(("claim", claim, Part(claim, available), "available", closed))
    else:
        stages.append(("  free", pool.idle, Part(pool.idle, available), "available", closed))
    stages += [
        ("occupied", occupied, Part(occupied, available), "available", closed),
        ("  suspended", pool.suspended, Part(pool.suspended, occupied), "occupied", closed),
        ("  unfunded", pool.unfunded, Part(pool.unfunded, occupied), "occupied", closed),
        ("funded", pool.funded, Part(pool.funded, occupied), "occupied", closed),
        ("  protected", pool.protected, Part(pool.protected, pool.funded), "funded", closed),
        ("  interruptible", pool.interruptible, Part(pool.interruptible, pool.funded), "funded", closed),
    ]
    if usage is not None:
        part = Part(usage.funded_utilized, usage.funded_sampled)
        sampled = Part(usage.funded_sampled, pool.funded)
        stages.append(("utilized", usage.funded_utilized, part, "sampled", sampled))
    return stages
