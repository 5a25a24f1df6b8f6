"""Metrics of a whole book: whatever way they are asked, the book's sums come out."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from ledger.book import Book
from ledger.events import ClusterEvent
from ledger.hours import CHARGED, CLAIM, DEMAND, GRANT, NODE_FIELD, REFUNDED, owed_gpu_ms
from ledger.metrics import METRICS, Metric, Question, Unanswerable
from ledger.metrics.definitions import NODES, OCCUPIED
from ledger.state import State
from ledger.store.metrics import measure
from ledger.store.protocol import Store
from ledger.units import HOUR_S, epoch_s
from tests.contract.store.rows import checkpoint
from tests.oracle.logs import recorded, seeded_log
from tests.support.stores import Stores


@pytest.fixture(scope="module", params=[11, 12])
def told(request: pytest.FixtureRequest, stores: Stores) -> Iterator[tuple[Store, State]]:
    book = Book("c")
    with stores.fresh() as store:
        for event in seeded_log(request.param):
            book.apply(cast("ClusterEvent", event), epoch_s(recorded(event)))
        store.write("g1", book.take())
        state = book.state
        store.save_checkpoint("g1", checkpoint("c", seq=state.seq, ticked_s=state.ticked_s, events=1))
        yield store, state


def asked(told: tuple[Store, State], *metrics: str, **given: Any) -> list[Metric]:
    store, state = told
    period = {"from_s": min(state.hours), "until_s": max(state.hours) + HOUR_S}
    found = measure(store, Question(metrics=metrics, **period | given))
    assert not isinstance(found, Unanswerable), found.sentence
    return found


def test_the_sums_of_the_book_come_out(told: tuple[Store, State]):
    hours = [pool for hour in told[1].hours.values() for pool in hour.values()]
    accounts = [sums for pool in hours for sums in pool.accounts.values()]
    field = {name: sum(pool.nodes[place] for pool in hours) for name, place in NODE_FIELD.items()}
    expected = {
        "capacity_gpu_hours": field["capacity"],
        "available_gpu_hours": field["capacity"] - field["planned"] - field["unplanned"],
        "occupied_gpu_hours": sum(field[c] for c in ("unfunded", "protected", "interruptible", "suspended")),
        "funded_gpu_hours": field["protected"] + field["interruptible"],
        "unoccupied_gpu_hours": field["idle"],
        "claim_gpu_hours": sum(sums[CLAIM] + sums[GRANT] for sums in accounts),
        "demand_gpu_hours": sum(sums[DEMAND] for sums in accounts),
        "delivered_gpu_hours": sum(sums[CHARGED] - sums[REFUNDED] for sums in accounts),
        "owed_gpu_hours": sum(map(owed_gpu_ms, accounts)),
        "impact_strict": sum(min(sums[CHARGED] - sums[REFUNDED], owed_gpu_ms(sums)) for sums in accounts),
    }
    assert {m.name: m.numerator for m in asked(told, *expected)} == expected
    assert expected["occupied_gpu_hours"]


@pytest.mark.parametrize("every", ["total", "hour", "day"])
def test_the_capacity_book_is_the_same_by_node_by_run_and_by_pool(told: tuple[Store, State], every: str):
    for name in ("occupied_gpu_hours", "funded_gpu_hours", "unfunded_gpu_hours", "suspended_gpu_hours"):
        assert METRICS[name].source(frozenset({"node"})) == NODES
        assert METRICS[name].source(frozenset({"user"})) == OCCUPIED
        whole = [m.numerator for m in asked(told, name, every=every)]
        for by in (("node",), ("user",), ("account",), ("job", "node"), ("cluster", "pool")):
            sums: dict[int, int] = {}
            for metric in asked(told, name, every=every, by=by, **{"depth": 1} if by == ("account",) else {}):
                sums[metric.bucket.from_s] = sums.get(metric.bucket.from_s, 0) + metric.numerator
            assert list(sums.values()) == whole


def test_funded_occupancy_is_what_is_charged(told: tuple[Store, State]):
    for by in ((), ("account",)):
        charged, funded = (
            {m.of("account"): m.numerator for m in asked(told, name, by=by) if m.numerator}
            for name in ("charged_gpu_hours", "funded_gpu_hours")
        )
        assert charged == funded


def test_every_metric_answers_by_everything_it_knows(told: tuple[Store, State]):
    for definition in METRICS.values():
        for source in definition.sources:
            names = tuple(sorted(source.dimensions))
            for metric in asked(told, definition.name, by=names, every="day", tz="Europe/Berlin"):
                assert 0 <= metric.covered <= metric.coverable
                assert metric.denominator >= 0
                assert len(metric.group) == len(names)
