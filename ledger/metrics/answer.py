"""From rows of a query to metrics: exact integers, the value they give, and what it covers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ledger.metrics.calendar import Bucket
from ledger.metrics.definitions import DIMENSIONS, Definition, Unit
from ledger.metrics.question import Question
from ledger.units import HOUR_S

Row: TypeAlias = Mapping[str, object]
"""A row of a query under its column names."""

Closed: TypeAlias = Mapping[tuple[str, int], int]
"""(cluster, start of a bucket) -> closed hours in it."""

NO_ROW: Row = {}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of one group in one bucket.

    `group` says what the row is of, one entry per dimension asked for, in the order of DIMENSIONS. `numerator` and
    `denominator` are exact, `covered` and `coverable` too: of `coverable` so much is known.
    """

    name: str
    unit: Unit
    bucket: Bucket
    group: tuple[tuple[str, str], ...]
    numerator: int
    denominator: int
    covered: int
    coverable: int

    @property
    def value(self) -> float | None:
        """In `unit`, for people and charts; None where there is nothing to divide by."""
        return self.numerator / self.denominator if self.denominator else None

    @property
    def exact(self) -> Fraction | None:
        """The exact value."""
        return Fraction(self.numerator, self.denominator) if self.denominator else None

    @property
    def coverage(self) -> float | None:
        """From 0 to 1; None where there was nothing to cover."""
        return self.covered / self.coverable if self.coverable else None

    def of(self, dimension: str) -> str:
        """The group's name in a dimension; '' for all of it."""
        return dict(self.group).get(dimension, "")


def closed_hours(rows: Iterable[Row]) -> dict[tuple[str, int], int]:
    """What `metric_closed_hours` told."""
    return {(str(row["cluster"]), whole(row["bucket_s"])): whole(row["hours"]) for row in rows}


def metrics_of(
    definition: Definition, question: Question, buckets: list[Bucket], rows: Iterable[Row], closed: Closed
) -> list[Metric]:
    """The metric of every group that has a row, in every bucket: groups in order, each without a gap in time.

    Where a group has no row in a bucket its parts are 0. Without any `by` there is one group, of everything.
    """
    names = tuple(name for name in DIMENSIONS if name in question.by)
    found: dict[tuple[str, ...], dict[int, Row]] = {} if names else {(): {}}
    for row in rows:
        found.setdefault(tuple(str(row[name]) for name in names), {})[whole(row["bucket_s"])] = row
    of_clusters: dict[str, list[tuple[int, int]]] = {}
    metrics: list[Metric] = []
    for key, by_bucket in sorted(found.items()):
        group = tuple(zip(names, key, strict=True))
        cluster = dict(group).get("cluster") or question.cluster
        if cluster not in of_clusters:
            of_clusters[cluster] = _closed_of(cluster, buckets, closed)
        metrics += [
            _metric(definition, bucket, group, by_bucket.get(bucket.from_s, NO_ROW), covered)
            for bucket, covered in zip(buckets, of_clusters[cluster], strict=True)
        ]
    return metrics


def _metric(
    definition: Definition, bucket: Bucket, group: tuple[tuple[str, str], ...], row: Row, closed: tuple[int, int]
) -> Metric:
    constant = definition.denominator
    covered, coverable = closed
    if definition.covered:
        covered, coverable = whole(row.get(definition.covered, 0)), whole(row.get(definition.coverable, 0))
    return Metric(
        name=definition.name,
        unit=definition.unit,
        bucket=bucket,
        group=group,
        numerator=whole(row.get(definition.numerator, 0)),
        denominator=constant if isinstance(constant, int) else whole(row.get(constant, 0)),
        covered=covered,
        coverable=coverable,
    )


def _closed_of(cluster: str, buckets: list[Bucket], closed: Closed) -> list[tuple[int, int]]:
    """(closed hours, hours) of a cluster in each bucket; of every cluster that closed any for ''."""
    clusters = {name for name, _ in closed if cluster in {"", name}} or {cluster}
    return [
        (
            sum(closed.get((name, bucket.from_s), 0) for name in clusters),
            (bucket.until_s - bucket.from_s) // HOUR_S * len(clusters),
        )
        for bucket in buckets
    ]


def whole(value: object) -> int:
    """A cell that must be a whole number: no float ever becomes a part of a metric."""
    assert isinstance(value, int), f"{value!r} is not a whole number"
    return value
