"""A past as a play begins it: work as it was asked for, how long it really lasted, the nodes as they really were. Pure.

What nobody can know is assumed, once and here: work that was stopped for good, or never started, lasts as long as
half of the ended work of its kind did at most; work that still ran at the last tick goes on for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median_low
from typing import Final, NamedTuple

from enforcer.whatif.work import ENDLESS_S, Running, Work
from ledger.jobs import Attempt
from ledger.ranking import is_debug
from ledger.runs import PREEMPTED, DerivedRun, funding
from ledger.state import Derived, State
from ledger.statements import Terms
from ledger.units import FOREVER_S, GPU_MILLI, HOUR_S

STOPPED: Final = frozenset({PREEMPTED, "requeued", "node_failure"})
"""How a run ends that did not end by itself."""
UNTOLD: Final = "succeeded"
"""How a run ends of which nobody said how: it loses nothing, and does not wait again."""
FUNDED_DEBUG, FUNDED_BATCH, UNFUNDED = "funded debug", "funded batch", "unfunded"
CLASSES: Final = (FUNDED_DEBUG, FUNDED_BATCH, UNFUNDED)


class Turn(NamedTuple):
    """A node from an instant on."""

    at_s: int
    node: str
    gpu_type: str
    gpus_milli: int
    state: str


@dataclass
class Past:
    """A span [from, until) of a cluster. `coming` is (when it asks, work), `running` what ran when it began.

    `before` are runs that began earlier, by job; a job named in `over` is done and told of as it is. Work `aside` ran
    earlier, is in the queue, and was held all the time.
    """

    from_s: int
    until_s: int
    coming: list[tuple[int, Work]] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    before: dict[str, list[DerivedRun]] = field(default_factory=dict)
    over: list[str] = field(default_factory=list)
    aside: list[Work] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)
    unknown: int = 0


def read(state: State, from_s: int, until_s: int) -> Past:
    """The past of a book's facts; all of it must be kept."""
    state.read_all()
    past = Past(from_s, until_s, turns=sorted(_turns(state, from_s, until_s)))
    typical = _typical(state)
    for name in sorted(state.jobs):
        _read_job(state, past, name, state.derived[name], typical)
    past.coming.sort(key=lambda one: (one[0], one[1].name))
    return past


def _read_job(state: State, past: Past, name: str, derived: Derived, typical: dict[str, int]) -> None:
    asks_s = first_asked_s(derived)
    if asks_s is None or asks_s >= past.until_s:
        return
    runs = derived.runs
    before = [run for run in runs if run.start_s < past.from_s]
    waits = any(b_s > past.from_s for _, b_s in derived.queued)
    if not waits and all(run.end_s <= past.from_s for run in runs):
        if before:
            past.over.append(name)
        return
    work, known = _work(state, name, derived, typical)
    if work is None:
        return
    if asks_s >= past.from_s:
        past.classes[name] = class_of(state, derived)
    if before:
        past.before[name] = before
        work.attempts = len(before)
    for run in before:
        work.left_s -= 0 if run.end_s > past.from_s else progress_s(run)
    at_start = next((run for run in before if run.end_s > past.from_s), None)
    comes_s = comes_at_s(derived, past.from_s)
    if at_start is not None:
        past.running.append(_running(work, state.jobs[name].attempts[at_start.attempt], at_start, past.from_s))
    elif comes_s is not None and comes_s < past.until_s:
        past.coming.append((comes_s, work))
    else:
        past.aside += [work] if before else []
        return
    past.unknown += not known


def _running(work: Work, attempt: Attempt, run: DerivedRun, from_s: int) -> Running:
    """An attempt in the middle of its life."""
    places: dict[str, int] = {}
    for node, milli, _ in run.placements:
        places[node] = places.get(node, 0) + milli
    told = [at_s for at_s in attempt.checkpoints_s if run.start_s < at_s <= from_s]
    saved_s = max(told, default=run.start_s) if work.checkpoint_s else run.start_s
    ends_s = max(run.start_s + work.left_s, from_s + 1)
    return Running(work, run.attempt, places, run.start_s, saved_s, ends_s, work.ends_as)


# ---------------------------------------------------------------- work


def _work(state: State, name: str, derived: Derived, typical: dict[str, int]) -> tuple[Work | None, bool]:
    """The job as its user means it, and whether its length is known."""
    runs, terms = derived.runs, _terms(derived)
    pool = terms.gpu_type or (runs[-1].pool if runs else "")
    pieces, piece_milli, apart = _shape(terms, runs)
    if not pieces or not piece_milli:
        return None, True
    length_s, known = _length_s(derived, typical)
    last = runs[-1].outcome if runs else ""
    return Work(
        name,
        terms.account,
        pieces,
        piece_milli,
        terms.min_runtime_s,
        resumable=terms.resumable,
        checkpoint_s=_habit_s(state, name) if terms.resumable else 0,
        left_s=length_s,
        kind=terms.kind,
        user=terms.user or "unknown",
        gpu_type=pool,
        priority=terms.priority,
        gang=terms.gang,
        apart=apart,
        limit_s=terms.time_limit_s,
        ends_as=last if last and last not in STOPPED else UNTOLD,
        withdrawn_s=_withdrawn_s(derived),
    ), known


def _terms(derived: Derived) -> Terms:
    return derived.runs[-1].terms if derived.runs else derived.waits[0].terms


def _shape(terms: Terms, runs: tuple[DerivedRun, ...]) -> tuple[int, int, bool]:
    """(pieces, milli-GPUs of each, whether each needs a node of its own)."""
    if terms.shape_nodes:
        return terms.shape_nodes, terms.shape_gpus_milli, True
    milli = terms.gpus_milli or (runs[-1].gpus_milli if runs else 0)
    if milli % GPU_MILLI:
        return 1, milli, False
    return milli // GPU_MILLI, GPU_MILLI, False


def _length_s(derived: Derived, typical: dict[str, int]) -> tuple[int, bool]:
    """How long it needs its GPUs in sum, what it had to do again left out; and whether that is known."""
    runs = derived.runs
    if not runs:
        return typical.get(_terms(derived).kind, HOUR_S), False
    if runs[-1].end_s == FOREVER_S:
        return ENDLESS_S, True
    least_s = max(1, sum(progress_s(run) for run in runs[:-1]) + held_s(runs[-1]))
    if runs[-1].outcome not in STOPPED:
        return least_s, True
    return max(least_s, typical.get(_terms(derived).kind, HOUR_S)), False


def held_s(run: DerivedRun) -> int:
    """How long a run that ended held its GPUs."""
    return run.end_s - run.start_s - sum(b - a for a, b, releases in run.pauses if releases)


def progress_s(run: DerivedRun) -> int:
    """The same, less what it had to do again if it was stopped."""
    if run.outcome not in STOPPED:
        return held_s(run)
    if not run.terms.resumable or run.checkpointed_s is None:
        return 0
    return max(0, min(held_s(run), run.checkpointed_s - run.start_s))


def _typical(state: State) -> dict[str, int]:
    """The median length of work that ended by itself, by kind."""
    lengths: dict[str, list[int]] = {}
    for derived in state.derived.values():
        runs = derived.runs
        if runs and runs[-1].end_s != FOREVER_S and runs[-1].outcome not in STOPPED:
            lengths.setdefault(runs[-1].terms.kind, []).append(sum(progress_s(run) for run in runs))
    return {kind: median_low(found) for kind, found in lengths.items()}


def _habit_s(state: State, name: str) -> int:
    """How far apart its checkpoints were, the median; 0 where none was told."""
    gaps: list[int] = []
    for run in state.derived[name].runs:
        before_s = run.start_s
        for at_s in state.jobs[name].attempts[run.attempt].checkpoints_s:
            if before_s < at_s <= run.end_s:
                gaps.append(at_s - before_s)
                before_s = at_s
    return median_low(gaps) if gaps else 0


def _withdrawn_s(derived: Derived) -> int | None:
    """When its user gave up waiting: the end of a wait that no run followed; None where that did not happen."""
    if not derived.queued or derived.queued[-1][1] == FOREVER_S:
        return None
    ended_s = derived.queued[-1][1]
    return None if any(run.start_s >= ended_s for run in derived.runs) else ended_s


def first_asked_s(derived: Derived) -> int | None:
    """When it could first have started, as far as is known."""
    told = [wait.a_s for wait in derived.waits[:1]] + [run.start_s for run in derived.runs[:1]]
    return min(told, default=None)


def comes_at_s(derived: Derived, from_s: int) -> int | None:
    """From when on, at an instant or later, somebody could start it; None if it was held ever since."""
    told = [max(wait.a_s, from_s) for wait in derived.waits if wait.b_s > from_s]
    return min(told + [run.start_s for run in derived.runs if run.start_s >= from_s], default=None)


def class_of(state: State, derived: Derived) -> str:
    """Of which class its wait counts: whether a budget pays, and whether it is small and short by contract."""
    if derived.runs:
        terms, funded = derived.runs[0].terms, derived.runs[0].funded
    else:
        wait = derived.waits[0]
        terms = wait.terms
        funded = not funding(terms, (terms.gpu_type,), wait.a_s, state)[1]
    return class_under(terms, funded=funded)


def class_under(terms: Terms, *, funded: bool) -> str:
    """The class of work under such terms."""
    if not funded:
        return UNFUNDED
    return FUNDED_DEBUG if is_debug(terms.gpus_milli, terms.min_runtime_s) else FUNDED_BATCH


def _turns(state: State, from_s: int, until_s: int) -> Iterator[Turn]:
    """How each node was when the span began, and every time it turned into something else."""
    for name, node in state.nodes.items():
        before: tuple[str, int, str] | None = None
        for stretch in node.stretches(from_s, until_s):
            told = (stretch.gpu_type, stretch.gpus_milli, stretch.state)
            if told != before:
                yield Turn(stretch.a_s, name, *told)
            before = told
