"""Metrics out of the store: one query per family, whatever number of its metrics is asked for."""

from __future__ import annotations

from dataclasses import replace

from ledger.metrics import (
    CLOSED_HOURS,
    WATERFALL,
    Metric,
    Plan,
    Question,
    Unanswerable,
    closed_hours,
    metrics_of,
    plan,
)
from ledger.store.protocol import Store, Table


def measure(store: Store, question: Question) -> list[Metric] | Unanswerable:
    """The metrics asked for, in that order; each by group, and each group by time without a gap.

    What is not there is 0 with its coverage, never left out and never guessed.
    """
    planned = plan(question)
    return planned if isinstance(planned, Unanswerable) else answer(store, planned)


def answer(store: Store, planned: Plan) -> list[Metric]:
    """Ask what a plan asks."""
    tables: dict[str, Table] = {}
    names = [source.query for _, source in planned.asked]
    if any(not definition.covered for definition, _ in planned.asked):
        names.append(CLOSED_HOURS.query)
    for name in dict.fromkeys(names):
        tables[name] = store.query(name, planned.parameters)
    closed = closed_hours(tables[CLOSED_HOURS.query].dicts()) if CLOSED_HOURS.query in tables else {}
    found: list[Metric] = []
    for definition, source in planned.asked:
        rows = tables[source.query].dicts()
        found += metrics_of(definition, planned.question, planned.buckets, rows, closed)
    return found


def waterfall(store: Store, question: Question) -> list[Metric] | Unanswerable:
    """The steps of WATERFALL for the question's period and groups, of which it may name cluster and pool."""
    return measure(store, replace(question, metrics=WATERFALL))
