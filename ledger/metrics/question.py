"""What may be asked of the metrics, and the named reasons for which a question has no answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import tzinfo
from typing import Final, Literal, NamedTuple

from ledger.metrics.calendar import EVERY, Bucket, Every, buckets, first_off_the_hour, zone_named
from ledger.metrics.definitions import DIMENSIONS, FILTERS, METRICS, Definition, Source
from ledger.units import HOUR_S, instant

MAX_BUCKETS: Final = 20_000
"""Two years of hours are 17,544."""
MAX_S: Final = (1 << 32) - 1
"""The last second the store's hours can hold, in 2106."""
MAX_DEPTH: Final = 255

RefusedName = Literal[
    "no_metric",
    "unknown_metric",
    "unknown_dimension",
    "unknown_period",
    "not_by_dimension",
    "empty_period",
    "unknown_zone",
    "zone_off_the_hour",
    "not_whole_hours",
    "too_many_periods",
]


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """The question has no answer: why, by name, and a sentence that says what to ask instead."""

    name: RefusedName
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Metrics over [from, until), in UTC epoch seconds.

    `every` cuts the period where hours, days, weeks or months begin in the time zone `tz`; `by` tells rows apart.
    A filter that is '' keeps everything; `account` is that account and all below it. By account, every level of the
    tree has its row: `depth` keeps one level (1 is the root), 0 all. From `high_priority` on a priority is high.
    """

    metrics: tuple[str, ...]
    from_s: int
    until_s: int
    every: Every = "total"
    tz: str = "UTC"
    by: tuple[str, ...] = ()
    cluster: str = ""
    pool: str = ""
    account: str = ""
    user: str = ""
    node: str = ""
    kind: str = ""
    job: str = ""
    depth: int = 0
    high_priority: int = 1

    @property
    def dimensions(self) -> frozenset[str]:
        """What a query must know to answer: what rows are told apart by and narrowed to."""
        return frozenset(self.by) | {name for name in FILTERS if getattr(self, name)}


class Plan(NamedTuple):
    """A question that has an answer: the queries to ask and with what, and the buckets they answer in."""

    question: Question
    zone: tzinfo
    buckets: list[Bucket]
    asked: tuple[tuple[Definition, Source], ...]
    parameters: dict[str, object]


def plan(question: Question) -> Plan | Unanswerable:
    """How to answer, or why there is no answer."""
    refused = _check(question)
    if refused is not None:
        return refused
    zone = zone_named(question.tz)
    if zone is None:
        return Unanswerable(
            "unknown_zone", f"there is no time zone {question.tz!r}; name one as in Europe/Berlin, or UTC"
        )
    asked: list[tuple[Definition, Source]] = []
    for name in dict.fromkeys(question.metrics):
        source = METRICS[name].source(question.dimensions)
        if source is None:
            return _not_by(METRICS[name], question.dimensions)
        asked.append((METRICS[name], source))
    off_s = first_off_the_hour(zone, question.from_s, question.until_s)
    hourly = [definition.name for definition, source in asked if source.by_hour]
    if hourly:
        refused = _check_hours(question, hourly[0], off_s)
        if refused is not None:
            return refused
    cut = buckets(question.from_s, question.until_s, question.every, zone)
    whole = question.every == "hour" and off_s is None and not (question.from_s % HOUR_S or question.until_s % HOUR_S)
    return Plan(question, zone, cut, tuple(asked), _parameters(question, cut, hourly=whole))


def _check(question: Question) -> Unanswerable | None:
    if not question.metrics:
        return Unanswerable("no_metric", f"name a metric: one of {', '.join(METRICS)}")
    for name in question.metrics:
        if name not in METRICS:
            return Unanswerable("unknown_metric", f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    for name in question.by:
        if name not in DIMENSIONS:
            return Unanswerable(
                "unknown_dimension", f"nothing is told apart by {name!r}; name some of {', '.join(DIMENSIONS)}"
            )
    if question.every not in EVERY:
        return Unanswerable("unknown_period", f"there is no period {question.every!r}; it is {', '.join(EVERY)}")
    if not 0 <= question.from_s < question.until_s <= MAX_S or not 0 <= question.depth <= MAX_DEPTH:
        return Unanswerable("empty_period", "the period must end after it begins, after 1970 and before 2106")
    shortest_s = {"hour": HOUR_S, "day": 23 * HOUR_S}.get(question.every, 6 * 24 * HOUR_S)
    most = (question.until_s - question.from_s) // shortest_s
    if question.every != "total" and most > MAX_BUCKETS:
        return Unanswerable(
            "too_many_periods", f"that is up to {most:,} {question.every}s; ask for at most {MAX_BUCKETS:,} at once"
        )
    return None


def _not_by(definition: Definition, dimensions: frozenset[str]) -> Unanswerable:
    best = max(definition.sources, key=lambda source: len(dimensions & source.dimensions))
    missing = ", ".join(name for name in DIMENSIONS if name in dimensions - best.dimensions)
    known = ", ".join(name for name in DIMENSIONS if name in definition.dimensions)
    return Unanswerable("not_by_dimension", f"{definition.name} does not know {missing} here; it knows {known}")


def _check_hours(question: Question, metric: str, off_s: int | None) -> Unanswerable | None:
    if off_s is not None:
        return Unanswerable(
            "zone_off_the_hour",
            f"{metric} is kept by UTC hours, and at {instant(off_s):%Y-%m-%d %H:%M} UTC the clocks of {question.tz} "
            "are not on a whole hour; ask in UTC or in a zone whose offset is a whole number of hours",
        )
    if question.from_s % HOUR_S or question.until_s % HOUR_S:
        return Unanswerable(
            "not_whole_hours", f"{metric} is kept by UTC hours; let the period begin and end on whole hours"
        )
    return None


def _parameters(question: Question, cut: list[Bucket], *, hourly: bool) -> dict[str, object]:
    """What the queries bind. With `hourly` they need no list of edges, which may be long."""
    kept = {f.name for f in fields(question)} - {"metrics", "every", "tz", "by"}
    return {
        **{name: getattr(question, name) for name in kept},
        **{f"by_{name}": name in question.by for name in DIMENSIONS},
        "hourly": hourly,
        "edges": [question.from_s] if hourly else [bucket.from_s for bucket in cut],
    }
