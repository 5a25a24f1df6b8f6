"""What was put right after hours were closed, what was refused, and what still needs a look. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tenure.report.accounts import NOBODY, AccountLine
from tenure.report.tables import POOL, Cell, Column, Section, section
from tenure.report.values import Corrected, Leaf, Overbooked, Question, RefusedFor, Remarked

CORRECTION_COLUMNS: Final = (
    Column("type", "event", "text", "programs"),
    Column("event", "event", "text", "people"),
    Column("events", "events", "count"),
    Column("hours", "hours touched", "count"),
    Column("moved_gpu_ms", "moved GPU-hours", "gpu_ms"),
    Column("first_recorded_at", "first", "instant"),
    Column("last_recorded_at", "last", "instant"),
)
EFFECT_COLUMNS: Final = (
    POOL,
    Column("figure", "figure", "text"),
    Column("closed_gpu_ms", "when closed", "gpu_ms"),
    Column("known_gpu_ms", "as known", "gpu_ms"),
    Column("difference_gpu_ms", "difference", "gpu_ms"),
)
REFUSAL_COLUMNS: Final = (
    Column("reason", "reason", "text"),
    Column("letters", "records", "count"),
    Column("first_recorded_at", "first", "instant"),
    Column("last_recorded_at", "last", "instant"),
    Column("example", "for example", "text"),
)
WARNING_COLUMNS: Final = (
    Column("warning", "warning", "text"),
    Column("subject", "of", "text"),
    Column("number", "number", "count"),
    Column("amount_gpu_ms", "GPU-hours", "gpu_ms"),
    Column("sentence", "what it means", "text"),
)


def corrections_section(question: Question, corrected: Iterable[Corrected]) -> Section:
    """Events that changed closed hours of the period, by type."""
    rows: list[tuple[Cell, ...]] = [(line.type, _short(line.type), *line[1:]) for line in corrected]
    whose = f"that touched {question.account}" if question.account else "of the cluster"
    return section(
        "corrections",
        "What was corrected after its hour was closed",
        CORRECTION_COLUMNS,
        rows,
        notes=(f"Events {whose}, by type; what one moved is counted whole, from one place to another once.",),
        empty="Nothing: every hour stands as it was closed.",
    )


def _short(type_: str) -> str:
    """`run.observed` of `tenure.run.observed.v1`."""
    return type_.removeprefix("tenure.").rpartition(".v")[0] or type_


def effect_section(leaves: Iterable[Leaf]) -> Section:
    """What the corrections came to: the subtree's figures as closed, and as known."""
    sums: dict[str, dict[str, tuple[int, int]]] = {}
    for leaf in leaves:
        pool = sums.setdefault(leaf.pool, {})
        for figure, closed, known in _figures(leaf):
            was, now = pool.get(figure, (0, 0))
            pool[figure] = (was + closed, now + known)
    rows: list[tuple[Cell, ...]] = [
        (pool, figure, closed, known, known - closed)
        for pool, figures in sums.items()
        for figure, (closed, known) in figures.items()
    ]
    return section("effect", "What the corrections came to", EFFECT_COLUMNS, rows, empty="No account had a figure.")


def _figures(leaf: Leaf) -> tuple[tuple[str, int, int], ...]:
    return (
        ("claim", leaf.closed_claim_gpu_ms, leaf.claim_gpu_ms + leaf.grant_gpu_ms),
        ("owed", leaf.closed_owed_gpu_ms, leaf.owed_gpu_ms),
        ("delivered", leaf.closed_delivered_gpu_ms, leaf.charged_gpu_ms - leaf.refunded_gpu_ms),
        ("unfunded", leaf.closed_unfunded_gpu_ms, leaf.unfunded_gpu_ms),
    )


def refusals_section(refusals: Iterable[RefusedFor]) -> Section:
    """Dead letters by reason; one cannot say which account they were meant for."""
    rows: list[tuple[Cell, ...]] = [tuple(line) for line in refusals]
    return section(
        "refused",
        "What was refused",
        REFUSAL_COLUMNS,
        rows,
        notes=("Records of this cluster, or of none, since the period began; `tenure dead-letters` shows them.",),
        empty="Nothing was refused.",
    )


def warnings_section(
    missing_hours: int,
    question: Question,
    lines: Iterable[AccountLine],
    overbooked: Iterable[Overbooked],
    remarks: Iterable[Remarked],
) -> Section:
    """What may make a figure other than it should be."""
    rows = [
        *_unsettled(missing_hours, question),
        *(_overbooked(line) for line in overbooked),
        *(_no_claim(line) for line in lines if _is_lost(line)),
        *(("remark", line.name, line.remarks, None, line.sentence) for line in remarks),
    ]
    return section("warnings", "What to look at", WARNING_COLUMNS, rows, empty="Nothing.")


def _unsettled(missing_hours: int, question: Question) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    if missing_hours:
        sentence = "hours of the period that are not in this report: not closed yet, or before the book opened"
        rows.append(("missing_hours", question.cluster, missing_hours, None, sentence))
    if question.known_at_s is not None and question.known_at_s >= question.recorded_s:
        sentence = "the log is not past this known-at yet: what is still recorded up to it will change the report"
        rows.append(("known_at_ahead", question.cluster, None, None, sentence))
    return rows


def _overbooked(line: Overbooked) -> tuple[Cell, ...]:
    sentence = "more was occupied than the node has: a node not stated, clocks apart, or an end that came late"
    return ("overbooked_hours", f"{line.node} ({line.pool})", line.hours, line.overbooked_gpu_ms, sentence)


def _is_lost(line: AccountLine) -> bool:
    """A leaf that used GPUs and never had a claim, or use under no account at all."""
    had_claim = line.sums.claim or line.sums.grant or line.ratio.claim_gpu_ms
    return line.is_leaf and bool(line.sums.unfunded) and not had_claim


def _no_claim(line: AccountLine) -> tuple[Cell, ...]:
    subject, amount = f"{line.account or NOBODY} ({line.pool})", line.sums.unfunded
    if not line.account:
        return ("no_account", subject, None, amount, "runs that named no account: free, and first to yield")
    return ("no_claim", subject, None, amount, "no budget of that name: is it misspelt, or has it no share?")
