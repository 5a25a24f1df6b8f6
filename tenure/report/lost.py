"""GPU time lost, account by account and by what took it. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from tenure.report.accounts import below
from tenure.report.tables import POOL, Cell, Column, Section, section
from tenure.report.values import Lost, Question

CAUSES: Final = {
    "preemption": "preempted",
    "node_failure": "node failed",
    "job_failure": "run failed",
    "requeue": "requeued",
    "wasted_hold": "held in vain",
}
"""What takes GPU time, in the order of the columns."""
COLUMNS: Final = (
    POOL,
    Column("account", "account", "text", "programs"),
    Column("shown", "account", "text", "people"),
    *(Column(f"{cause}_gpu_ms", title, "gpu_ms") for cause, title in CAUSES.items()),
    Column("lost_gpu_ms", "in all", "gpu_ms"),
    Column("unsaved_gpu_ms", "no checkpoint told", "gpu_ms"),
)


def losses_section(question: Question, found: list[Lost]) -> Section:
    """A row per account that lost anything."""
    by_account = groupby(found, key=lambda one: (one.pool, one.account))
    rows = [_row(question, pool, account, list(lines)) for (pool, account), lines in by_account]
    return section(
        "losses",
        "What was lost, and to what",
        COLUMNS,
        rows,
        notes=(
            "Of runs that ended so: the time since the last checkpoint, or since the start of one that cannot be",
            "resumed or told none (of these the last column: at most so much). Held in vain: room for an asker that",
            "did not come; that time was nobody's, the rest is of what was occupied.",
            *(() if question.known_at_s is None else ("As now known, not as known then.",)),
        ),
        empty="Nothing was lost.",
        apart=True,
    )


def _row(question: Question, pool: str, account: str, lines: list[Lost]) -> tuple[Cell, ...]:
    by_cause = [sum(line.lost_gpu_ms for line in lines if line.cause == cause) for cause in CAUSES]
    unsaved = sum(line.unsaved_gpu_ms for line in lines)
    return pool, account, below(question, account), *by_cause, sum(by_cause), unsaved
