"""Failures and repairs of nodes, out of the log."""

import json
from datetime import UTC, datetime
from typing import Any

from ledger.metrics import Metric, Question, Unanswerable
from ledger.store.metrics import measure
from ledger.store.protocol import Store
from ledger.units import HOUR_S
from tests.contract.store.rows import HOUR_S as START
from tests.contract.store.rows import checkpoint, cluster_hour, event, letter, tables_of

PERIOD = {"from_s": START, "until_s": START + 10 * HOUR_S}


def settle(store: Store, ticked_h: float = 10) -> None:
    hours = [cluster_hour(1, hour_s=START + n * HOUR_S) for n in range(10)]
    store.write("g1", tables_of(*hours))
    store.save_checkpoint("g1", checkpoint("c", seq=1, ticked_s=START + int(ticked_h * HOUR_S)))


def asked(store: Store, *metrics: str, **given: Any) -> list[Metric]:
    found = measure(store, Question(metrics=metrics, **PERIOD | given))
    assert not isinstance(found, Unanswerable), found.sentence
    return found


def parts(metrics: list[Metric]) -> list[tuple[int, int]]:
    return [(metric.numerator, metric.denominator) for metric in metrics]


def node(store: Store, first: int, name: str, *told: tuple[float, str], **data: Any) -> int:
    """Statements of a node, (hours after START, state), at offsets from `first` on; returns the next offset."""
    for offset, (hours, state) in enumerate(told, first):
        kind = "tenure.node.removed.v1" if state == "removed" else "tenure.node.observed.v1"
        at_s = START + int(hours * HOUR_S)
        told_data = {"cluster": "c", "node": name, "gpu_type": "h100", "gpus_milli": 8000, "state": state} | data
        body = {"type": kind, "time": datetime.fromtimestamp(at_s, UTC).isoformat(), "data": told_data}
        archived = event(offset, cluster="c", type=kind, event_id=f"e{offset}", occurred_us=at_s * 1_000_000)
        store.append([archived._replace(raw=json.dumps(body).encode())])
    return first + len(told)


def test_failures_and_repairs_of_a_node(store: Store):
    node(
        store,
        0,
        "n1",
        (-5, "available"),
        (1, "down"),
        (1.5, "down"),
        (3, "available"),
        (6, "draining"),
        (7, "available"),
        (8, "down"),
    )
    settle(store)
    mtbf, repair = asked(store, "mtbf", "time_to_repair")
    # Available [0, 1), [3, 6), [7, 8): five hours between two failures. One is repaired, after two hours.
    assert parts([mtbf, repair]) == [(5 * HOUR_S, 2), (2 * HOUR_S, 1)]
    assert (mtbf.value, mtbf.unit, mtbf.coverage) == (2.5 * HOUR_S, "s", 1.0)


def test_each_counts_in_the_hour_it_falls_in(store: Store):
    node(store, 0, "n1", (-5, "available"), (1.5, "down"), (3.25, "available"))
    settle(store)
    hourly = asked(store, "mtbf", every="hour", until_s=START + 5 * HOUR_S)
    assert parts(hourly) == [(3600, 0), (1800, 1), (0, 0), (2700, 0), (3600, 0)]
    repairs = asked(store, "time_to_repair", every="hour", until_s=START + 5 * HOUR_S)
    assert parts(repairs) == [(0, 0), (0, 0), (0, 0), (6300, 1), (0, 0)]


def test_a_repair_takes_from_the_failure_on_however_long_ago(store: Store):
    node(store, 0, "n1", (-50, "available"), (-48, "down"), (-40, "planned_down"), (2, "available"))
    settle(store)
    mtbf, repair = asked(store, "mtbf", "time_to_repair")
    assert parts([mtbf, repair]) == [(8 * HOUR_S, 0), (50 * HOUR_S, 1)]
    assert mtbf.value is None


def test_maintenance_is_no_failure_until_the_node_goes_down(store: Store):
    after = node(store, 0, "n1", (-1, "available"), (1, "draining"), (2, "planned_down"), (3, "available"))
    node(store, after, "n2", (-1, "available"), (1, "draining"), (2, "down"), (3, "draining"), (4, "available"))
    settle(store)
    found = asked(store, "mtbf", "time_to_repair", by=("node",))
    assert [(m.name, m.of("node"), m.numerator // HOUR_S, m.denominator) for m in found] == [
        ("mtbf", "n1", 8, 0),
        ("mtbf", "n2", 7, 1),
        ("time_to_repair", "n1", 0, 0),
        ("time_to_repair", "n2", 2, 1),
    ]


def test_a_node_first_seen_down_did_not_fail_and_a_removed_one_is_not_repaired(store: Store):
    after = node(store, 0, "n1", (1, "down"), (4, "available"))
    after = node(store, after, "n2", (0, "available"), (2, "down"), (5, "removed"), (6, "available"))
    node(store, after, "cpu", (0, "available"), (2, "down"), (3, "available"), gpus_milli=0)
    settle(store)
    mtbf, repair = asked(store, "mtbf", "time_to_repair")
    assert parts([mtbf, repair]) == [((6 + 2 + 4) * HOUR_S, 1), (0, 0)]


def test_the_future_and_what_was_refused_do_not_count(store: Store):
    node(store, 0, "n1", (0, "available"), (2, "down"), (3, "available"), (9, "down"))
    store.write_dead_letters([letter(1, topic="tenure.events", partition=0, index=0), letter(7, topic="x", index=0)])
    settle(store, ticked_h=6.5)
    assert parts(asked(store, "mtbf")) == [(int(6.5 * HOUR_S), 0)]


def test_statements_count_once_and_in_the_order_of_their_time(store: Store):
    node(store, 0, "n1", (3, "available"), (1, "down"), (1, "down"), (0, "available"), (3, "available"))
    settle(store)
    assert parts(asked(store, "mtbf", "time_to_repair")) == [(8 * HOUR_S, 1), (2 * HOUR_S, 1)]


def test_a_batched_record_has_many_statements(store: Store):
    def told(hours: int, state: str) -> dict[str, Any]:
        data = {"cluster": "c", "node": "n1", "gpu_type": "h100", "gpus_milli": 8000, "state": state}
        return {"type": "tenure.node.observed.v1", "data": data, "hours": hours}

    batch = [told(0, "available"), told(2, "down"), told(5, "available")]
    raw = json.dumps(batch).encode()
    for index, one in enumerate(batch):
        at_us = (START + one["hours"] * HOUR_S) * 1_000_000
        store.append([event(0, index, cluster="c", type=one["type"], occurred_us=at_us, raw=raw)])
    settle(store)
    assert parts(asked(store, "mtbf", "time_to_repair")) == [(7 * HOUR_S, 1), (3 * HOUR_S, 1)]


def test_pools_are_told_apart(store: Store):
    after = node(store, 0, "n1", (0, "available"), (2, "down"), (5, "available"))
    node(store, after, "n2", (0, "available"), gpu_type="b200")
    settle(store)
    found = asked(store, "mtbf", by=("pool",))
    assert [(m.of("pool"), m.numerator // HOUR_S, m.denominator) for m in found] == [("b200", 10, 0), ("h100", 7, 1)]
    assert parts(asked(store, "mtbf", pool="b200")) == [(10 * HOUR_S, 0)]
