"""Asks the metrics what samples, waits and requests say of the pack's period. I/O, and no arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ledger.metrics import Metric, Unanswerable
from ledger.metrics import Question as MetricQuestion
from ledger.store.metrics import measure as ask
from ledger.store.protocol import Store, Value
from tenure.report.enforced import Kept
from tenure.report.gather import rows
from tenure.report.period import PeriodRefused
from tenure.report.values import Lost, Offender, Question

USE: Final = (
    "utilization",
    "sm_activity",
    "idle_share",
    "funded_utilized_gpu_hours",
)
WAITS: Final = ("queue_wait_median", "queue_wait_p90")
CLASSES: Final = ("funding", "kind", "size")
INFLATION: Final = ("high_priority_share", "high_priority_gpu_share")
OFFENDERS: Final = 10


@dataclass(frozen=True, slots=True)
class Measured:
    """Metrics by pool, all of them as now known; `waits` by funding, kind and size in turn, `goodput` by outcome."""

    use: list[Metric]
    goodput: list[Metric]
    waits: list[Metric]
    inflation: list[Metric]
    offenders: list[Offender]
    lost: list[Lost] = field(default_factory=list)
    played: list[Kept] = field(default_factory=list)


def measure(store: Store, question: Question) -> Measured:
    """What is measured by samples, starts and submissions over the hours of the question."""
    waits = [metric for by in CLASSES for metric in _ask(store, question, WAITS, by)]
    asked = _span(question) | {"pool": question.pool, "account": question.account}
    worst = store.query("report_pack_offenders", asked | {"limit": OFFENDERS})
    return Measured(
        _ask(store, question, USE),
        _ask(store, question, ("goodput",), "outcome"),
        waits,
        _ask(store, question, INFLATION),
        rows(Offender, worst),
        rows(Lost, store.query("report_pack_losses", asked)),
        rows(Kept, store.query("what_if_kept", {**_span(question), "policy": ""})),
    )


def _span(question: Question) -> dict[str, Value]:
    return {"cluster": question.cluster, "from_s": question.from_s, "until_s": question.until_s}


def _ask(store: Store, question: Question, metrics: tuple[str, ...], *by: str) -> list[Metric]:
    found = ask(
        store,
        MetricQuestion(
            metrics=metrics,
            from_s=question.from_s,
            until_s=question.until_s,
            tz=question.zone.key,
            by=("pool", *by),
            cluster=question.cluster,
            pool=question.pool,
            account=question.account,
        ),
    )
    if isinstance(found, Unanswerable):
        raise PeriodRefused("unanswerable", found.sentence)
    return found
