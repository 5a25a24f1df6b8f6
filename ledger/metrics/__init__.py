"""The metrics: declared once, asked with a question, answered as exact integers with their coverage. Pure.

`ledger.store.metrics` asks the store. docs/metrics.md says what each of them means.
"""

from ledger.metrics.answer import Metric, closed_hours, metrics_of
from ledger.metrics.calendar import EVERY, Bucket, Every, label, local_midnight_s, zone_named
from ledger.metrics.definitions import CLOSED_HOURS, DIMENSIONS, FILTERS, METRICS, WATERFALL, Definition, Source
from ledger.metrics.question import Plan, Question, Unanswerable, plan

__all__ = [
    "CLOSED_HOURS",
    "DIMENSIONS",
    "EVERY",
    "FILTERS",
    "METRICS",
    "WATERFALL",
    "Bucket",
    "Definition",
    "Every",
    "Metric",
    "Plan",
    "Question",
    "Source",
    "Unanswerable",
    "closed_hours",
    "label",
    "local_midnight_s",
    "metrics_of",
    "plan",
    "zone_named",
]
