"""Per-GPU samples at a minute's pace, as columns: one block per day, no object per sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ledger.units import DAY_S, HOUR_S
from tenure.demo.chance import Bools, Chance
from tenure.demo.cluster import B200, GPUS_PER_NODE, NODES
from tenure.demo.span import Span
from tenure.demo.truth import Attempt, NodeChange, Truth

INTERVAL_S: Final = 60
DAY_MINUTES: Final = DAY_S // INTERVAL_S
ALL_GPUS: Final = len(NODES) * GPUS_PER_NODE
UNSEEN: Final = frozenset({"down", "planned_down", "removed"})
"""Node states without samples."""
GAPS_A_DAY: Final = 0.4
"""Hours-long silences of a node's exporter."""
XID_FALLEN_OFF: Final = 79
WARM_UP_MINUTES: Final = 4
PAUSE_MINUTES: Final = 2
"""Once in a while a run stops to write or read."""
NEVER: Final = np.iinfo(np.int32).max

Floats: TypeAlias = npt.NDArray[np.float32]
Minutes: TypeAlias = npt.NDArray[np.int32]
Rows: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class SampleBlock:
    """Samples of one day in equally long columns, ordered by node, GPU and minute.

    `node` indexes `nodes`; `minute_s` is the epoch second at which a sample's `interval_s` begins; `xid` is 0
    where there was no error.
    """

    day_s: int
    nodes: tuple[str, ...]
    interval_s: int
    node: npt.NDArray[np.uint8]
    gpu: npt.NDArray[np.uint8]
    minute_s: npt.NDArray[np.uint32]
    utilization_pct: Floats
    sm_active_pct: Floats
    memory_used_mib: Floats
    power_w: Floats
    xid: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU type's memory in MiB, and power in watts at rest and at full work."""

    memory_mib: float
    idle_w: float
    full_w: float


H100_BOARD: Final = Board(81_559.0, 72.0, 690.0)
B200_BOARD: Final = Board(183_359.0, 140.0, 980.0)
BOARDS: Final = tuple(B200_BOARD if spec.gpu_type == B200 else H100_BOARD for spec in NODES)


@dataclass(frozen=True, slots=True)
class Habits:
    """Per run, by its number from 1 (0: nobody): how its GPUs behave. Minutes count from the opening."""

    usual_pct: Floats
    spread_pct: Floats
    memory_part: Floats
    started: Minutes
    idle_from: Minutes
    period: Minutes
    bursty: Bools


def sample_blocks(span: Span, truth: Truth, chance: Chance) -> Iterator[SampleBlock]:
    """A block per day of the span: what an exporter on every node would have seen of the runs."""
    owners = _owners(span, truth.attempts)
    seen = _seen(span, truth.nodes, chance)
    errors = _errors(span, truth.nodes)
    habits = _habits(span, truth.attempts, chance)
    for day in range(span.days):
        minutes = slice(day * DAY_MINUTES, (day + 1) * DAY_MINUTES)
        yield _block(span, day, owners[:, minutes], seen[:, minutes], habits, errors, chance)


def _owners(span: Span, attempts: tuple[Attempt, ...]) -> npt.NDArray[np.int32]:
    """The number of the run on each GPU in each whole minute; a run that stands still is nobody."""
    rows = {spec.name: n * GPUS_PER_NODE for n, spec in enumerate(NODES)}
    owners = np.zeros((ALL_GPUS, span.days * DAY_MINUTES), np.int32)
    for number, attempt in enumerate(attempts, start=1):
        busy = [slice(*_minutes(span, since, until)) for since, until in _busy(attempt, span.ends_s)]
        for part in attempt.parts:
            first = rows[part.node]
            for index in part.gpu_indices:
                for minutes in busy:
                    owners[first + index, minutes] = number
    return owners


def _busy(attempt: Attempt, ends_s: int) -> Iterator[tuple[int, int]]:
    """Stretches in which the run ran."""
    since_s, last_s = attempt.started_s, ends_s if attempt.ended_s is None else attempt.ended_s
    for stop in attempt.stops:
        yield since_s, stop.since_s
        since_s = last_s if stop.until_s is None else stop.until_s
    yield since_s, last_s


def _minutes(span: Span, since_s: int, until_s: int) -> tuple[int, int]:
    """The whole minutes inside [since_s, until_s), counted from the opening."""
    first = -(-(since_s - span.opens_s) // INTERVAL_S)
    return first, max(first, (until_s - span.opens_s) // INTERVAL_S)


def _seen(span: Span, changes: tuple[NodeChange, ...], chance: Chance) -> Bools:
    """Whether each node's exporter answered in each minute."""
    numbers = {spec.name: n for n, spec in enumerate(NODES)}
    seen = np.ones((len(NODES), span.days * DAY_MINUTES), np.bool_)
    for change in changes:
        first, last = _minutes(span, change.at_s, span.ends_s)
        seen[numbers[change.node], first:last] = change.state not in UNSEEN
    silences = max(1, round(GAPS_A_DAY * span.days))
    starts = chance.integers(0, span.days * DAY_MINUTES, silences)
    lengths = chance.integers(30, 6 * HOUR_S // INTERVAL_S, silences)
    nodes = chance.integers(0, len(NODES), silences)
    for node, start, length in zip(nodes.tolist(), starts.tolist(), lengths.tolist(), strict=True):
        seen[node, start : start + length] = False
    return seen


def _errors(span: Span, changes: tuple[NodeChange, ...]) -> dict[int, list[tuple[int, int]]]:
    """By day, (node, minute of the day) of the last sample before a GPU fell off its bus."""
    numbers = {spec.name: n for n, spec in enumerate(NODES)}
    found: dict[int, list[tuple[int, int]]] = {}
    for change in changes:
        if change.state == "down" and str(XID_FALLEN_OFF) in change.reason:
            day, minute = divmod((change.at_s - span.opens_s) // INTERVAL_S - 1, DAY_MINUTES)
            found.setdefault(day, []).append((numbers[change.node], minute))
    return found


def _habits(span: Span, attempts: tuple[Attempt, ...], chance: Chance) -> Habits:
    count = len(attempts) + 1
    usual = np.zeros(count, np.float32)
    started = np.zeros(count, np.int32)
    idle_from = np.full(count, NEVER, np.int32)
    bursty = np.zeros(count, np.bool_)
    for number, attempt in enumerate(attempts, start=1):
        nature = attempt.job.nature
        usual[number] = nature.utilization_pct
        started[number] = _minutes(span, attempt.started_s, span.ends_s)[0]
        bursty[number] = attempt.job.ask.kind == "session"
        if nature.idle_from_s is not None and not attempt.stops:
            idle_from[number] = (attempt.started_s + nature.idle_from_s - span.opens_s) // INTERVAL_S
    idle_from[0] = -1
    memory = chance.uniform(0.25, 0.95, count).astype(np.float32)
    memory[0] = 0
    return Habits(
        usual,
        chance.uniform(1.0, 8.0, count).astype(np.float32),
        memory,
        started,
        idle_from,
        chance.integers(25, 90, count).astype(np.int32),
        bursty,
    )


def _block(
    span: Span,
    day: int,
    owners: npt.NDArray[np.int32],
    seen: Bools,
    habits: Habits,
    errors: dict[int, list[tuple[int, int]]],
    chance: Chance,
) -> SampleBlock:
    rows = np.flatnonzero(np.repeat(seen, GPUS_PER_NODE, axis=0))
    gpu_row, minute = np.divmod(rows, DAY_MINUTES)
    node, gpu = np.divmod(gpu_row, GPUS_PER_NODE)
    owner = owners.reshape(-1)[rows]
    work = _work(owner, (minute + day * DAY_MINUTES).astype(np.int32), habits, chance)
    xid = np.zeros(len(rows), np.int32)
    for broken, last in errors.get(day, ()):
        xid[(node == broken) & (gpu == 0) & (minute == last)] = XID_FALLEN_OFF
    return SampleBlock(
        day_s=span.opens_s + day * DAY_S,
        nodes=tuple(spec.name for spec in NODES),
        interval_s=INTERVAL_S,
        node=node.astype(np.uint8),
        gpu=gpu.astype(np.uint8),
        minute_s=(span.opens_s + day * DAY_S + minute * INTERVAL_S).astype(np.uint32),
        utilization_pct=np.rint(100 * work),
        sm_active_pct=np.rint(1_000 * work * _active_part(owner, habits)) / 10,
        memory_used_mib=_memory_mib(node, owner, habits),
        power_w=_power_w(node, work, chance),
        xid=xid,
    )


def _work(owner: npt.NDArray[np.int32], minute: Minutes, habits: Habits, chance: Chance) -> Floats:
    """The busy part of each minute, 0 to 1: noise about the usual, warm-up, pauses for data, idleness."""
    noise = chance.standard_normal(len(owner), dtype=np.float32)
    work: Floats = habits.usual_pct[owner] + habits.spread_pct[owner] * noise
    age = minute - habits.started[owner]
    period = habits.period[owner]
    halting = (age % period) < PAUSE_MINUTES
    halting |= age < WARM_UP_MINUTES
    # A person at a session works for some ten minutes and thinks for twenty.
    halting |= habits.bursty[owner] & ((minute // 10 + period) % 3 != 0)
    np.multiply(work, np.float32(0.15), out=work, where=halting)
    np.clip(work, 1, 100, out=work)
    work[minute >= habits.idle_from[owner]] = 0
    work *= np.float32(0.01)
    return work


def _active_part(owner: npt.NDArray[np.int32], habits: Habits) -> Floats:
    """How much of the busy time the multiprocessors really worked: 55 to 85 %, each run its own."""
    return np.float32(0.55) + np.float32(0.3) * habits.memory_part[owner]


def _memory_mib(node: Rows, owner: npt.NDArray[np.int32], habits: Habits) -> Floats:
    size = np.array([board.memory_mib for board in BOARDS], np.float32)
    memory_mib: Floats = np.rint(np.float32(4) + habits.memory_part[owner] * size[node])
    return memory_mib


def _power_w(node: Rows, work: Floats, chance: Chance) -> Floats:
    idle_w = np.array([board.idle_w for board in BOARDS], np.float32)
    range_w = np.array([board.full_w - board.idle_w for board in BOARDS], np.float32)
    noise = np.float32(4) * chance.standard_normal(len(work), dtype=np.float32)
    power_w: Floats = np.rint(idle_w[node] + range_w[node] * work + noise)
    return power_w
