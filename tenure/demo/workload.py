"""All submissions of the month: who asks for what, when, and what will become of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ledger.events.jobs import Outcome
from ledger.units import DAY_S, HOUR_S
from tenure.demo.chance import Bools, Chance, odds
from tenure.demo.cluster import GPUS, GPUS_PER_NODE, POOLS
from tenure.demo.habits import FATES, FUNDED, MINUTE_S, UNFUNDED, Habit
from tenure.demo.jobs import Ask, Job, Nature, Pause
from tenure.demo.people import Person
from tenure.demo.seasons import Floats, Ints, intensity, moments
from tenure.demo.span import STORY_DAYS, Span
from tenure.demo.tree import LEAVES, LIMITED_TEAM, OPENING, SLOT_LIMIT_GPUS, UNKNOWN, Claims, claims

FUNDED_OF_CAPACITY: Final = 1.4
UNFUNDED_OF_CAPACITY: Final = 1.1
"""With the funded part, two and a half times what the cluster can give."""
FIRST_JOB: Final = 410_000
TOO_LONG_S: Final = 12 * HOUR_S
GANG_OF_CLAIM: Final = 6.0
"""Nobody asks for gangs of more than six times their claim at once."""
SURVIVES_S: Final = 90 * MINUTE_S
"""Work longer than this is worth checkpoints."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs drawn together: one habit of one account in one pool."""

    habit: Habit
    account: str
    pool: str
    gpus: Ints
    work_s: Ints
    submit_s: Ints


def workload(span: Span, everybody: tuple[Person, ...], chance: Chance) -> tuple[Job, ...]:
    """Every job by submission time, numbered as Slurm would."""
    jobs = [job for batch in _batches(span, chance) for job in _jobs(batch, everybody, chance)]
    jobs.sort(key=lambda job: (job.submit_s, job.ask.user, job.gpus, job.nature.work_s))
    numbered = [replace(job, number=FIRST_JOB + n) for n, job in enumerate(jobs)]
    return tuple(_with_mistakes(numbered, chance))


def _batches(span: Span, chance: Chance) -> Iterator[Batch]:
    opening = claims(OPENING)
    funded = _targets(span, opening, FUNDED_OF_CAPACITY, by_appetite=True)
    unfunded = _targets(span, opening, UNFUNDED_OF_CAPACITY, by_appetite=False)
    for habits, targets in ((FUNDED, funded), (UNFUNDED, unfunded)):
        for (account, pool), gpu_h in targets.items():
            most = _largest_gang(opening[account, pool], account, pool)
            for habit in habits:
                yield _batch(span, habit, (account, pool), gpu_h * habit.part, most, chance)


def _targets(span: Span, opening: Claims, of_capacity: float, *, by_appetite: bool) -> Claims:
    """GPU-hours each leaf asks for in each pool, together `of_capacity` times what the pool holds."""
    appetite = {leaf.path: leaf.appetite if by_appetite else 1.0 for leaf in LEAVES}
    targets: Claims = {}
    for pool in POOLS:
        weights = {leaf.path: opening[leaf.path, pool] * appetite[leaf.path] for leaf in LEAVES}
        scale = of_capacity * GPUS[pool] * span.hours / sum(weights.values())
        targets |= {(path, pool): weight * scale for path, weight in weights.items()}
    return targets


def _largest_gang(claim: float, account: str, pool: str) -> int:
    if account == LIMITED_TEAM:
        return SLOT_LIMIT_GPUS
    return max(2 * GPUS_PER_NODE, int(GANG_OF_CLAIM * claim * GPUS[pool]))


def _batch(span: Span, habit: Habit, of: tuple[str, str], gpu_h: float, most_gpus: int, chance: Chance) -> Batch:
    """As many jobs as make up `gpu_h` GPU-hours; their lengths are then stretched to meet it closely."""
    account, pool = of
    sizes = np.array([size for size in habit.sizes if size <= most_gpus])
    weights = np.array(habit.weights[: len(sizes)])
    mean_h = habit.median_s * np.exp(habit.sigma**2 / 2) / HOUR_S
    wanted = gpu_h / (mean_h * float(sizes @ weights / weights.sum()))
    count = int(wanted) + int(chance.random() < wanted % 1)
    gpus = chance.choice(sizes, count, p=weights / weights.sum())
    length_s = np.clip(habit.median_s * chance.lognormal(0.0, habit.sigma, count), habit.least_s, habit.most_s)
    stretch = np.clip(gpu_h * HOUR_S / max(1.0, float(gpus @ length_s)), 0.6, 1.6)
    work_s = np.clip(length_s * stretch, habit.least_s, habit.most_s).astype(np.int64)
    submit_s = moments(span, intensity(span, account, habit.rhythm), count, chance)
    return Batch(habit, account, pool, gpus.astype(np.int64), work_s, submit_s)


def _jobs(batch: Batch, everybody: tuple[Person, ...], chance: Chance) -> Iterator[Job]:
    asks = _asks(batch, everybody, chance)
    natures = _natures(batch, asks, chance)
    n = len(batch.gpus)
    waits, held = _waits(batch, n, chance)
    eligible_s = batch.submit_s + waits
    for ask, nature, submit, eligible, is_held in zip(
        asks, natures, batch.submit_s.tolist(), eligible_s.tolist(), held.tolist(), strict=True
    ):
        yield Job(0, ask, nature, batch.pool, submit, eligible, is_held, funded=ask.min_runtime_s > 0)


def _waits(batch: Batch, n: int, chance: Chance) -> tuple[Ints, Bools]:
    """Seconds until a job may start, and whether it is a hold; most may start at once."""
    delayed = odds(chance, 0.03 if batch.habit.kind == "batch" else 0.0, n)
    return np.where(delayed, chance.integers(HOUR_S, 10 * HOUR_S, n), 0), delayed & odds(chance, 0.3, n)


def _asks(batch: Batch, everybody: tuple[Person, ...], chance: Chance) -> list[Ask]:
    habit, n = batch.habit, len(batch.gpus)
    team = [person for person in everybody if person.account == batch.account]
    diligence = np.array([person.diligence for person in team])
    users = chance.choice(len(team), n, p=diligence / diligence.sum())
    untyped = (batch.gpus < GPUS_PER_NODE) & odds(chance, 0.15, n)
    nobody = odds(chance, 0.05 if habit in UNFUNDED else 0.0, n)
    columns = zip(
        users.tolist(),
        nobody.tolist(),
        untyped.tolist(),
        batch.gpus.tolist(),
        chance.choice(habit.contracts_s, n).tolist(),
        odds(chance, habit.resumable, n).tolist(),
        _priorities(habit, n, chance).tolist(),
        _limits_s(batch, chance).tolist(),
        strict=True,
    )
    return [
        Ask(
            team[user].user,
            None if alone else batch.account,
            None if any_type else batch.pool,
            max(1, gpus // GPUS_PER_NODE),
            min(gpus, GPUS_PER_NODE),
            contract,
            resumable,
            priority,
            habit.kind,
            limit,
        )
        for user, alone, any_type, gpus, contract, resumable, priority, limit in columns
    ]


def _priorities(habit: Habit, n: int, chance: Chance) -> Ints:
    """-1 low, 0 normal, 1 high; nearly everybody in a session thinks it urgent."""
    high = {"session": 0.7, "debug": 0.5, "batch": 0.35}[habit.kind]
    return chance.choice(np.array([-1, 0, 1]), n, p=[0.1, 0.9 - high, high])


def _limits_s(batch: Batch, chance: Chance) -> Ints:
    """Time limits in whole quarters of an hour, generous as people are."""
    generous = batch.work_s * chance.uniform(1.15, 2.5, len(batch.work_s))
    quarter_s = 15 * MINUTE_S
    return np.ceil(generous / quarter_s).astype(np.int64) * quarter_s


def _natures(batch: Batch, asks: list[Ask], chance: Chance) -> Iterator[Nature]:
    habit, n = batch.habit, len(batch.gpus)
    fates, weights = zip(*FATES[habit.kind], strict=True)
    fate = chance.choice(len(fates), n, p=weights)
    columns = zip(
        asks,
        batch.work_s.tolist(),
        fate.tolist(),
        chance.uniform(0.05, 0.95, n).tolist(),
        chance.integers(HOUR_S, 2 * HOUR_S, n).tolist(),
        (60 + chance.exponential(habit.patience_s, n)).astype(np.int64).tolist(),
        _pauses(batch, chance),
        np.where(odds(chance, 0.012, n), chance.integers(600, 4 * HOUR_S, n), 0).tolist(),
        _idle_from_s(habit, n, chance).tolist(),
        _utilization_pct(habit, n, chance).tolist(),
        strict=True,
    )
    for ask, work, which, part, checkpoint, patience, pause, requeue, idle, used in columns:
        yield Nature(
            work,
            fates[which],
            _fate_at_s(fates[which], work, part, ask.time_limit_s),
            checkpoint if ask.resumable and work > SURVIVES_S else 0,
            patience,
            pause,
            requeue if requeue and ask.resumable else None,
            idle if idle >= 0 else None,
            used,
        )


def _fate_at_s(fate: Outcome, work_s: int, part: float, limit_s: int) -> int:
    """Seconds of progress at which the fate strikes; a time-out never reaches its own end."""
    match fate:
        case "succeeded":
            return work_s
        case "out_of_memory":
            return min(work_s, 90 + int(1_200 * part))
        case "timeout":
            return 2 * limit_s
        case _:
            return max(30, int(work_s * part))


def _pauses(batch: Batch, chance: Chance) -> list[Pause | None]:
    """One long batch job in twenty-five is suspended once, and half of those give their GPUs back meanwhile."""
    n = len(batch.gpus)
    paused = odds(chance, 0.04 if batch.habit.kind == "batch" else 0.0, n) & (batch.work_s > HOUR_S)
    after_s = (batch.work_s * chance.uniform(0.1, 0.6, n)).astype(np.int64)
    lasts_s = chance.integers(10 * MINUTE_S, 2 * HOUR_S, n)
    releases = odds(chance, 0.5, n)
    return [
        Pause(after, lasts, release) if is_paused else None
        for is_paused, after, lasts, release in zip(
            paused.tolist(), after_s.tolist(), lasts_s.tolist(), releases.tolist(), strict=True
        )
    ]


def _idle_from_s(habit: Habit, n: int, chance: Chance) -> Ints:
    """Seconds of running until the GPUs fall idle, -1 for never: some sessions squat, batch jobs hang."""
    draw = chance.random(n)
    squats, leaves = {"session": (0.12, 0.3), "batch": (0.001, 0.008), "debug": (0.0, 0.0)}[habit.kind]
    later_s = chance.integers(10 * MINUTE_S, 3 * HOUR_S, n)
    return np.select([draw < squats, draw < leaves], [np.zeros(n, np.int64), later_s], -1)


def _utilization_pct(habit: Habit, n: int, chance: Chance) -> Floats:
    """Usual GPU utilization of each job: most batch work is busy, one job in eight waits for its data."""
    if habit.kind != "batch":
        return chance.uniform(8, 55, n)
    starved = odds(chance, 0.125, n)
    return np.where(starved, chance.uniform(12, 40, n), 97 - 30 * chance.beta(1.2, 3.0, n))


def _with_mistakes(jobs: list[Job], chance: Chance) -> list[Job]:
    """Misspell the account of a few jobs, and ask once for a longer contract than anybody may have."""
    batch = [n for n, job in enumerate(jobs) if job.funded and job.ask.kind == "batch"]
    small = [n for n in batch if jobs[n].gpus < GPUS_PER_NODE]
    for n in chance.choice(small, max(3, len(jobs) // 1_500), replace=False).tolist():
        jobs[n] = replace(jobs[n], ask=replace(jobs[n].ask, account=UNKNOWN), funded=False)
    nodes = [n for n in batch if jobs[n].gpus == GPUS_PER_NODE][: max(1, len(jobs) // 100)]
    eager = max(nodes, key=lambda n: jobs[n].nature.work_s)
    ask = replace(jobs[eager].ask, min_runtime_s=TOO_LONG_S)
    patient = replace(jobs[eager].nature, patience_s=STORY_DAYS * DAY_S)
    jobs[eager] = replace(jobs[eager], ask=ask, nature=patient, funded=False)
    return jobs
