"""`tenure metrics`: availability, occupancy, impact, utilization and what explains them, with what they are made of."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Final, cast, get_args

import typer

from ledger.metrics import DIMENSIONS, METRICS, Every, Metric, Question, Unanswerable, label
from ledger.store.metrics import measure
from ledger.units import GPU_HOUR_MS, instant
from tenure.cli import exits, options, output
from tenure.cli.desk import Desk, reading
from tenure.cli.report import Account, Last, Month, Since, Until, Zone
from tenure.cli.text import NONE, count, duration, gpu_hours, gpus, percent
from tenure.report.gather import pool_spans
from tenure.report.period import Asked, PeriodRefused, iso, period, zone_named
from tenure.report.review import NotThere, check_account

HEADLINES: Final = (
    "availability",
    "occupancy",
    "funded_share",
    "impact_strict",
    "impact_period",
    "utilization",
    "goodput",
    "queue_wait_median",
    "queue_wait_p90",
    "high_priority_share",
)
"""What is shown where the period is cut or grouped and nothing is named; of a whole period it is every metric."""

PERIOD_KEYS: Final = ("metric", "from", "until")
FIGURE_KEYS: Final = (
    "numerator",
    "numerator_of",
    "denominator",
    "denominator_of",
    "unit",
    "covered",
    "coverable",
    "coverage_of",
    "watermark",
)
"""What programs get of a number, before and after what it is grouped by."""


def metrics(
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", metavar="NAME", help="Some of them only; may be repeated.")
    ] = None,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    account: Account = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="One user's runs and requests.")] = None,
    since: Since = None,
    until: Until = None,
    last: Last = None,
    month: Month = None,
    zone: Zone = "UTC",
    by: Annotated[
        str | None, typer.Option("--by", metavar="TIME", help="Cut the period by hour, day, week or month of --tz.")
    ] = None,
    group_by: Annotated[
        list[str] | None,
        typer.Option("--group-by", "-g", metavar="NAME", help="By cluster, pool, account, user, node, kind, job …"),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, with a header, exact integers.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Measure how healthy, how full, how fair and how well used it is: every number with its parts and its coverage.

    Seven days back from the last closed hour, unless a period is named. docs/metrics.md says what each one means.
    """
    if by is not None and by not in get_args(Every):
        raise exits.Stop(f"--by {by!r} is none of hour, day, week, month")
    with reading(data, config) as desk:
        named = desk.cluster(cluster) if cluster else desk.settings.cluster or ""
        try:
            question = _question(desk, Asked(since, until, last, month), zone, named)
            check_account(desk.store, named, account or "")
        except PeriodRefused as refused:
            raise exits.Stop(str(refused)) from refused
        except NotThere as absent:
            raise exits.Stop(str(absent), exits.NOTHING) from absent
        question = replace(
            question,
            every=cast("Every", by or "total"),
            by=tuple(group_by or ()),
            pool=pool or "",
            account=account or "",
            user=user or "",
        )
        question = replace(question, metrics=_chosen(metric or [], question))
        answer = Answer(question, _measured(desk, question), _watermarks(desk))
    if as_json:
        output.emit(_json(answer))
    elif as_csv:
        _csv(answer)
    else:
        _show(answer)


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a cluster's figures are true, epoch seconds: those of hours, and those of instants."""

    closed_until_s: int
    ticked_s: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked, what it came to, and how far each cluster is known."""

    question: Question
    found: list[Metric]
    watermarks: dict[str, Watermark]

    def marks(self) -> dict[str, Watermark]:
        """Those of the clusters that were asked about."""
        return {name: mark for name, mark in self.watermarks.items() if self.question.cluster in {"", name}}

    def watermark_s(self, metric: Metric) -> int:
        """What the metric is true at: of several clusters, the one least far."""
        definition = METRICS[metric.name]
        source = definition.source(self.question.dimensions)
        cluster = metric.of("cluster") or self.question.cluster
        marks = [mark for name, mark in self.watermarks.items() if cluster in {"", name}]
        by_hour = source is None or source.by_hour
        return min((mark.closed_until_s if by_hour else mark.ticked_s for mark in marks), default=0)


# ---------------------------------------------------------------- asking


def _question(desk: Desk, asked: Asked, zone: str, cluster: str) -> Question:
    spans = pool_spans(desk.store, cluster)
    if not spans:
        raise PeriodRefused("nothing_closed", "no hour is closed yet")
    found = period(asked, zone_named(zone), max(span.closed_until_s for span in spans))
    return Question(metrics=(), from_s=found.from_s, until_s=found.until_s, tz=zone, cluster=cluster)


def _chosen(named: list[str], question: Question) -> tuple[str, ...]:
    """The metrics named, as they are; else those that know what is asked for."""
    if named:
        return tuple(name for text in named for name in text.split(","))
    whole = question.every == "total" and not question.by
    known = [name for name in METRICS if METRICS[name].source(question.dimensions) is not None]
    return tuple(name for name in known if whole or name in HEADLINES) or HEADLINES


def _measured(desk: Desk, question: Question) -> list[Metric]:
    found = measure(desk.store, question)
    if isinstance(found, Unanswerable):
        raise exits.Stop(found.sentence)
    return found


def _watermarks(desk: Desk) -> dict[str, Watermark]:
    return {name: Watermark(c.closed_until_s, c.ticked_s) for name, c in desk.checkpoints.items()}


# ---------------------------------------------------------------- for programs


def _json(answer: Answer) -> output.Report:
    question = answer.question
    marks = answer.marks()
    return {
        "watermarks": {name: iso(mark.ticked_s) for name, mark in marks.items()},
        "closed_until": {name: iso(mark.closed_until_s) for name, mark in marks.items()},
        "from": iso(question.from_s),
        "until": iso(question.until_s),
        "zone": question.tz,
        "by": question.every,
        "metrics": [_record(answer, metric) | {"value": metric.value} for metric in answer.found],
    }


def _csv(answer: Answer) -> None:
    dimensions = [name for name in DIMENSIONS if name in answer.question.by]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*PERIOD_KEYS, *dimensions, *FIGURE_KEYS])
    writer.writerows(_record(answer, metric).values() for metric in answer.found)


def _record(answer: Answer, metric: Metric) -> dict[str, object]:
    """One number under its keys: the parts named as their columns are, with their units."""
    definition = METRICS[metric.name]
    figures = (
        metric.numerator,
        definition.numerator,
        metric.denominator,
        definition.denominator if isinstance(definition.denominator, str) else "constant",
        metric.unit,
        metric.covered,
        metric.coverable,
        definition.coverable or "hours",
        iso(answer.watermark_s(metric)),
    )
    period_ = (metric.name, iso(metric.bucket.from_s), iso(metric.bucket.until_s))
    return {
        **dict(zip(PERIOD_KEYS, period_, strict=True)),
        **dict(metric.group),
        **dict(zip(FIGURE_KEYS, figures, strict=True)),
    }


# ---------------------------------------------------------------- for people


def _show(answer: Answer) -> None:
    question = answer.question
    zone = zone_named(question.tz)
    cut = question.every != "total"
    begin, end = (f"{instant(at).astimezone(zone):%Y-%m-%d %H:%M}" for at in (question.from_s, question.until_s))
    names = [name for name, _ in answer.found[0].group] if answer.found else []
    columns = ("*Metric", *(["*" + question.every.capitalize()] if cut else []), *(f"*{n.capitalize()}" for n in names))
    made = output.table(
        f"{begin} to {end}, {question.tz}", *columns, ">Value", ">Numerator", ">Denominator", ">Coverage"
    )
    before = ""
    for metric in answer.found:
        if before and metric.name != before and (cut or names):
            made.add_section()
        when = [label(metric.bucket, question.every, zone)] if cut else []
        shown = metric.name if metric.name != before else ""
        output.fill(made, [[shown, *when, *(value or NONE for _, value in metric.group), *_figures(metric)]])
        before = metric.name
    output.show(made)
    if not answer.found:
        output.say("Nothing: no row of that group in the period.")
    output.say(_truth(answer))


def _truth(answer: Answer) -> str:
    """Until when the numbers are true."""
    marks = answer.marks().items()
    told = (f"{name} until {instant(mark.closed_until_s):%Y-%m-%d %H:%M} UTC" for name, mark in marks)
    return f"Closed: {', '.join(told)}. Coverage says how much of each number is known; the rest is not guessed."


def _figures(metric: Metric) -> list[str]:
    definition = METRICS[metric.name]
    denominator = definition.denominator
    return [
        _value(metric),
        _part(metric.numerator, definition.numerator),
        _part(metric.denominator, denominator) if isinstance(denominator, str) and denominator != "known" else NONE,
        percent(metric.covered, metric.coverable),
    ]


def _value(metric: Metric) -> str:
    if not metric.denominator:
        return NONE
    match metric.unit:
        case "ratio":
            return percent(metric.numerator, metric.denominator)
        case "GPU-hours":
            return f"{gpu_hours(metric.numerator * GPU_HOUR_MS // metric.denominator)} GPU-h"
        case "s":
            return duration(metric.numerator // metric.denominator)


def _part(amount: int, column: str) -> str:
    """A numerator or denominator in the unit its column's name ends in."""
    if column.endswith("_gpu_ms"):
        return f"{gpu_hours(amount)} GPU-h"
    if column.endswith("_milli"):
        return f"{gpus(amount)} GPUs"
    return duration(amount) if column.endswith("_s") else count(amount)
