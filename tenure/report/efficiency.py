"""How well GPU time was used, what of it was lost, who waited how long, and who calls everything urgent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ledger.metrics import Metric
from tenure.report.accounts import below
from tenure.report.measure import Measured
from tenure.report.tables import POOL, Cell, Column, Part, Section, section
from tenure.report.values import Offender, Question
from tenure.report.waterfall import Usage

USE_COLUMNS: Final = (
    POOL,
    Column("figure", "figure", "text"),
    Column("amount_gpu_ms", "GPU-hours", "gpu_ms"),
    Column("part", "part", "part"),
    Column("part_of", "of", "text"),
    Column("coverage", "coverage", "part"),
)
OFFENDER_COLUMNS: Final = (
    POOL,
    Column("job", "job", "text"),
    Column("user", "user", "text"),
    Column("account", "account", "text", "programs"),
    Column("shown", "account", "text", "people"),
    Column("kind", "kind", "text"),
    Column("gpus_milli", "GPUs", "milli"),
    Column("occupied_gpu_ms", "held", "gpu_ms"),
    Column("idle_gpu_ms", "idle", "gpu_ms"),
    Column("utilization", "used", "part"),
    Column("coverage", "sampled", "part"),
)
WAIT_COLUMNS: Final = (
    POOL,
    Column("class", "class", "text"),
    Column("runs", "started", "count"),
    Column("known_runs", "wait known", "count"),
    Column("wait_median_s", "median", "seconds"),
    Column("wait_p90_s", "p90", "seconds"),
)
INFLATION_COLUMNS: Final = (
    POOL,
    Column("counted_in", "counted in", "text", "programs"),
    Column("shown", "counted in", "text", "people"),
    Column("high", "at high priority", "part"),
    Column("requests", "jobs submitted", "count"),
)

SHOWN: Final = {
    "utilization": ("utilized", "sampled"),
    "sm_activity": ("SM active", "sampled with SM activity"),
    "idle_share": ("idle, all samples zero", "sampled"),
}
"""How the metrics of use are called here, and of what they are a part."""
CAUSES: Final = {
    "failed": "lost: the run failed",
    "out_of_memory": "lost: out of memory",
    "node_failure": "lost: its node failed",
    "preempted": "lost: preempted",
    "requeued": "lost: requeued",
}
SIZES: Final = {
    "": "",
    "under 1": "under 1 GPU",
    "1": "1 GPU",
    "2-7": "2 to 7 GPUs",
    "8-15": "8 to 15 GPUs",
    "16-63": "16 to 63 GPUs",
    "64+": "64 GPUs and more",
    "128+": "128 GPUs and more",
}
"""The sizes the metrics tell apart, in order."""
COUNTED: Final = {
    "high_priority_share": ("jobs", "jobs"),
    "high_priority_gpu_share": ("gpus_milli", "GPUs asked for"),
}
PRESENT: Final = "As now known, not as known then: samples, runs and jobs are kept as they stand."


def usage(measured: Measured) -> dict[str, Usage]:
    """What samples say of the funded time of each pool."""
    return {
        metric.of("pool"): Usage(metric.covered, metric.numerator)
        for metric in measured.use
        if metric.name == "funded_utilized_gpu_hours"
    }


def efficiency_sections(question: Question, measured: Measured) -> tuple[Section, ...]:
    """Efficiency, worst offenders, waits and inflation."""
    notes = () if question.known_at_s is None else (PRESENT,)
    return (
        section(
            "efficiency",
            "How well it was used",
            USE_COLUMNS,
            sorted([*_use(measured.use), *_lost(measured.goodput)], key=lambda row: str(row[0])),
            notes=(
                "lost: of runs that ended so, the time since the last checkpoint; of those not resumable, all of it.",
                *notes,
            ),
            empty="Nothing was held, or no sample was taken.",
        ),
        section(
            "offenders",
            "Held for nothing: the jobs with most idle GPU-hours",
            OFFENDER_COLUMNS,
            [_offender(question, found) for found in measured.offenders],
            notes=notes,
            empty="No sample was zero.",
        ),
        section(
            "waits",
            "How long runs waited that started",
            WAIT_COLUMNS,
            list(_waits(measured.waits)),
            notes=notes,
            empty="No run started.",
        ),
        section(
            "inflation",
            "Requests at a high priority",
            INFLATION_COLUMNS,
            list(_inflation(measured.inflation)),
            notes=notes,
            empty="Nothing was submitted.",
        ),
    )


def _use(metrics: Iterable[Metric]) -> Iterator[tuple[Cell, ...]]:
    for metric in metrics:
        if metric.name in SHOWN:
            figure, whole = SHOWN[metric.name]
            part, coverage = Part(metric.numerator, metric.denominator), Part(metric.covered, metric.coverable)
            yield metric.of("pool"), figure, metric.numerator, part, whole, coverage


def _lost(goodput: Iterable[Metric]) -> Iterator[tuple[Cell, ...]]:
    """By pool, what was not lost of all that ran to an end, and what was by the way it ended."""
    by_pool: dict[str, list[Metric]] = {}
    for metric in goodput:
        by_pool.setdefault(metric.of("pool"), []).append(metric)
    for pool, metrics in by_pool.items():
        ran = sum(metric.denominator for metric in metrics)
        coverage = Part(sum(metric.covered for metric in metrics), sum(metric.coverable for metric in metrics))
        good = sum(metric.numerator for metric in metrics)
        yield pool, "goodput: kept by runs that ended", good, Part(good, ran), "ran", coverage
        for metric in metrics:
            lost = metric.denominator - metric.numerator
            if lost:
                cause = CAUSES.get(metric.of("outcome"), metric.of("outcome"))
                yield pool, f"  {cause}", lost, Part(lost, ran), "ran", Part(metric.covered, metric.coverable)


def _offender(question: Question, found: Offender) -> tuple[Cell, ...]:
    return (
        found.pool,
        found.job,
        found.user,
        found.account,
        below(question, found.account),
        found.kind,
        found.gpus_milli,
        found.occupied_gpu_ms,
        found.idle_gpu_ms,
        Part(found.utilized_gpu_ms, found.sampled_gpu_ms),
        Part(min(found.sampled_gpu_ms, found.occupied_gpu_ms), found.occupied_gpu_ms),
    )


def _waits(metrics: Iterable[Metric]) -> Iterator[tuple[Cell, ...]]:
    """Median and p90 side by side; pools in order, in each the classes as they were asked for."""
    medians, p90s = ([m for m in metrics if m.name == name] for name in ("queue_wait_median", "queue_wait_p90"))
    pairs = zip(medians, p90s, strict=True)
    for median, p90 in sorted(pairs, key=lambda pair: (pair[0].of("pool"), _size(pair[0]))):
        known = bool(median.denominator)
        yield (
            median.of("pool"),
            _class(median),
            median.coverable,
            median.covered,
            median.numerator if known else None,
            p90.numerator if known else None,
        )


def _size(metric: Metric) -> int:
    """The place of the metric's size among sizes, 0 for none."""
    return list(SIZES).index(metric.of("size"))


def _class(metric: Metric) -> str:
    return SIZES[metric.of("size")] or metric.of("funding") or metric.of("kind")


def _inflation(metrics: Iterable[Metric]) -> Iterator[tuple[Cell, ...]]:
    for metric in sorted(metrics, key=lambda m: (not m.of("pool"), m.of("pool"))):
        counted, shown = COUNTED[metric.name]
        part = Part(metric.numerator, metric.denominator)
        yield metric.of("pool") or "any", counted, shown, part, metric.coverable
