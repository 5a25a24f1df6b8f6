"""What enforcement would have changed in the period, where that was played: accounts, waits, use and losses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, NamedTuple

from enforcer.whatif.compare import RECORDED, SIDES, WITH, WITHOUT
from tenure.report.accounts import below
from tenure.report.lost import CAUSES
from tenure.report.period import shown
from tenure.report.tables import POOL, Cell, Column, Part, Section, section
from tenure.report.values import Question

TITLES: Final = {RECORDED: "recorded", WITHOUT: "without", WITH: "with it"}


def _titles(of: str) -> Iterator[tuple[str, str]]:
    """The sides with what they are called, below what they are of."""
    for side in SIDES:
        yield side, f"{of if side == RECORDED else ''}\n{TITLES[side]}"


ACCOUNT_COLUMNS: Final = (
    POOL,
    Column("account", "account", "text", "programs"),
    Column("shown", "account", "text", "people"),
    *(Column(f"owed_{side}_gpu_ms", side, "gpu_ms", "programs") for side in SIDES),
    *(Column(f"delivered_{side}_gpu_ms", title, "gpu_ms") for side, title in _titles("delivered")),
    *(Column(f"met_{side}", title, "part") for side, title in _titles("owed and met")),
)
WAIT_COLUMNS: Final = (
    Column("class", "class", "text"),
    Column("side", "played", "text"),
    Column("started_jobs", "started", "count"),
    Column("never_started_jobs", "never", "count"),
    Column("wait_p50_s", "median", "seconds"),
    Column("wait_p90_s", "p90", "seconds"),
    Column("preempted_runs", "preempted", "count"),
)
USE_COLUMNS: Final = (
    POOL,
    Column("figure", "figure", "text"),
    *(Column(f"{side}_gpu_ms", TITLES[side], "gpu_ms") for side in SIDES),
)
LIMITS: Final = (
    "One simple scheduler plays the same work twice, without enforcement and with it: these two differ",
    "by enforcement alone. Users do as they did, whatever they got. What was recorded stands beside",
    "them, and another scheduler did that.",
)


class Kept(NamedTuple):
    """A figure of a span that was played."""

    from_s: int
    until_s: int
    policy: str
    seq: int
    side: str
    pool: str
    account: str
    figure: str
    subject: str
    amount: int


@dataclass(frozen=True, slots=True)
class _Figures:
    """Amounts by (side, pool, account, figure, subject)."""

    amounts: dict[tuple[str, str, str, str, str], int]

    def of(self, side: str, figure: str, pool: str = "", account: str = "", subject: str = "") -> int | None:
        return self.amounts.get((side, pool, account, figure, subject))


def enforcement_sections(question: Question, kept: list[Kept]) -> tuple[Section, ...]:
    """Three tables; empty where nothing of the period was played."""
    found = _Figures({(k.side, k.pool, k.account, k.figure, k.subject): k.amount for k in kept})
    notes = (*_span(question, kept), *LIMITS) if kept else ()
    return (
        section(
            "enforcement",
            "What enforcement would have changed",
            ACCOUNT_COLUMNS,
            list(_accounts(question, kept, found)),
            notes=(*notes, "met: min(delivered, owed) / owed, hour by hour. Owed differs where other work waits."),
            empty="No span of the period was played: `tenure what-if` does that.",
            apart=True,
        ),
        section(
            "enforcement_waits",
            "How long work would have waited, and how often it had to leave",
            WAIT_COLUMNS,
            list(_waits(kept, found)),
            notes=("Of jobs that first asked in the span; never: not by its end, or withdrawn before.",),
            empty="",
        ),
        section(
            "enforcement_use",
            "What would have been held and lost",
            USE_COLUMNS,
            list(_use(question, kept, found)),
            notes=("Losses as above, of all pools together.",),
            empty="",
        ),
    )


def _span(question: Question, kept: list[Kept]) -> Iterator[str]:
    first = kept[0]
    zone = question.zone
    yield f"Played: {shown(first.from_s, zone)} to {shown(first.until_s, zone)}, by {first.seq:,} facts."
    yield from wrap(f"Policy: {first.policy}.", 98)
    amounts = {k.figure: k.amount for k in kept}
    if "played_jobs" in amounts:
        jobs, assumed = amounts["played_jobs"], amounts["assumed_length_jobs"]
        yield f"Of {jobs:,} jobs {assumed:,} never ended by themselves: how long they would have run is assumed."


def _accounts(question: Question, kept: Iterable[Kept], found: _Figures) -> Iterator[tuple[Cell, ...]]:
    wanted = {(k.pool, k.account) for k in kept if k.figure == "owed_gpu_ms" and question.holds(k.account)}
    for pool, account in sorted(wanted):
        if question.pool not in {"", pool}:
            continue
        owed, delivered, met = (
            [found.of(side, figure, pool, account) or 0 for side in SIDES]
            for figure in ("owed_gpu_ms", "delivered_gpu_ms", "met_gpu_ms")
        )
        if any(owed) or any(delivered):
            parts = [Part(m, o) for m, o in zip(met, owed, strict=True)]
            yield pool, account, below(question, account), *owed, *delivered, *parts


def _waits(kept: Iterable[Kept], found: _Figures) -> Iterator[tuple[Cell, ...]]:
    classes = dict.fromkeys(k.subject for k in kept if k.figure == "started_jobs")
    for class_ in classes:
        for side in SIDES:
            figures = [
                found.of(side, figure, subject=class_)
                for figure in ("started_jobs", "never_started_jobs", "wait_p50_s", "wait_p90_s", "preempted_runs")
            ]
            yield class_, TITLES[side], *figures[:4], figures[4] or 0


def _sum(kept: Iterable[Kept], side: str, figure: str, pool: str = "", subject: str = "") -> int:
    """A figure of all accounts together."""
    wanted = (side, figure, pool, subject)
    return sum(k.amount for k in kept if (k.side, k.figure, k.pool, k.subject) == wanted)


def _use(question: Question, kept: Iterable[Kept], found: _Figures) -> Iterator[tuple[Cell, ...]]:
    kept = list(kept)
    for pool in sorted({k.pool for k in kept if k.figure == "capacity_gpu_ms"}):
        if question.pool in {"", pool}:
            for figure in ("available", "occupied"):
                yield pool, figure, *(found.of(side, f"{figure}_gpu_ms", pool) for side in SIDES)
            for figure, title in (("owed", "owed"), ("met", "owed and met"), ("delivered", "delivered")):
                yield pool, title, *(_sum(kept, side, f"{figure}_gpu_ms", pool=pool) for side in SIDES)
    for cause, title in CAUSES.items():
        lost = [_sum(kept, side, "lost_gpu_ms", subject=cause) for side in SIDES]
        if any(lost):
            yield "", f"lost: {title}", *lost
