"""The metrics of hardware and occupancy, out of rows whose sums are known."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ledger.metrics import Metric, Question, Unanswerable
from ledger.rows import ClusterHour, NodeHour
from ledger.store.metrics import measure, waterfall
from ledger.store.protocol import Store
from ledger.units import HOUR_S, epoch_s
from tests.contract.store.rows import checkpoint, cluster_hour, make, tables_of

MINUTE = 60_000
GPU_H = 3_600_000
BERLIN = ZoneInfo("Europe/Berlin")
AMOUNTS = {name: 0 for name in NodeHour._fields if name.endswith("_gpu_ms")}


def node_hour(node: str, hour_s: int, **given: Any) -> NodeHour:
    return make(
        NodeHour, **AMOUNTS | {"cluster": "c", "pool": "h100", "node": node, "hour_s": hour_s, "seq": 1} | given
    )


def settle(store: Store, *rows: Any, cluster: str = "c", **given: Any) -> None:
    store.write("g1", tables_of(*rows))
    store.save_checkpoint("g1", checkpoint(cluster, seq=1, **given))


def asked(store: Store, *metrics: str, **given: Any) -> list[Metric]:
    found = measure(store, Question(metrics=metrics, **given))
    assert not isinstance(found, Unanswerable), found.sentence
    return found


def at(year: int, month: int, day: int, hour: int = 0) -> int:
    return epoch_s(datetime(year, month, day, hour, tzinfo=UTC))


START = at(2026, 3, 2)


def sreport() -> list[tuple[int, int, int]]:
    """Slurm's utilization row of 4920 minutes as (occupied, down, free) minutes of 82 hours of one GPU.

    770 allocated, 120 down, 0 planned down, 239 planned (healthy, kept free for a job that comes) and 3791 idle.
    """
    occupied = [60] * 12 + [50] + [0] * 69
    down = [0] * 80 + [60] * 2
    return [(o, d, 60 - o - d) for o, d in zip(occupied, down, strict=True)]


def test_slurms_own_figures_come_out(store: Store):
    columns = ("protected_gpu_ms", "unavailable_unplanned_gpu_ms", "idle_gpu_ms")
    hours = [
        {"capacity_gpu_ms": GPU_H, **{name: minutes * MINUTE for name, minutes in zip(columns, row, strict=True)}}
        for row in sreport()
    ]
    assert [sum(part) for part in zip(*sreport(), strict=True)] == [770, 120, 239 + 3791]
    rows: list[Any] = [cluster_hour(1, hour_s=START + n * HOUR_S, **hour) for n, hour in enumerate(hours)]
    rows += [node_hour("n1", START + n * HOUR_S, **hour) for n, hour in enumerate(hours)]
    settle(store, *rows)
    period = {"from_s": START, "until_s": START + 82 * HOUR_S}
    names = ("availability", "unavailable_planned", "unavailable_unplanned", "occupancy")
    for by in ((), ("node",)):
        found = {metric.name: metric for metric in asked(store, *names, by=by, **period)}
        parts = {name: (m.numerator // MINUTE, m.denominator // MINUTE) for name, m in found.items()}
        assert parts == {
            "availability": (4800, 4920),
            "unavailable_planned": (0, 4920),
            "unavailable_unplanned": (120, 4920),
            "occupancy": (770, 4800),
        }
        assert round(found["availability"].value or 0, 6) == 0.975610
        assert round(found["occupancy"].value or 0, 6) == 0.160417
        assert {metric.coverage for metric in found.values()} == {1.0}


def test_months_of_berlin_have_743_and_745_hours(store: Store):
    begin = epoch_s(datetime(2026, 1, 1, tzinfo=BERLIN))
    end = epoch_s(datetime(2027, 1, 1, tzinfo=BERLIN))
    hours = [cluster_hour(1, hour_s=hour, capacity_gpu_ms=GPU_H) for hour in range(begin, end, HOUR_S)]
    settle(store, *hours)
    year = {"from_s": begin, "until_s": end, "tz": "Europe/Berlin"}
    months = asked(store, "capacity_gpu_hours", every="month", **year)
    counted = [metric.value for metric in months]
    assert counted == [744, 672, 743, 720, 744, 720, 744, 744, 720, 745, 720, 744]
    assert sum(m.numerator for m in months) == 365 * 24 * GPU_H
    assert [m.bucket.until_s for m in months[:-1]] == [m.bucket.from_s for m in months[1:]]
    assert (months[0].bucket.from_s, months[-1].bucket.until_s) == (begin, end)
    assert all(m.covered == m.coverable == m.value for m in months)
    days = asked(store, "capacity_gpu_hours", every="day", **year)
    assert [d.value for d in days if d.value != 24] == [23, 25]
    assert sum(d.numerator for d in days) == 365 * 24 * GPU_H


def test_hours_days_weeks_and_the_whole_have_one_sum(store: Store):
    hours = [
        cluster_hour(
            1,
            pool=pool,
            hour_s=START + n * HOUR_S,
            capacity_gpu_ms=GPU_H * (n % 7 + 1),
            protected_gpu_ms=1_000 * n * size,
            interruptible_gpu_ms=7 * n,
            unfunded_gpu_ms=n,
            suspended_gpu_ms=3,
        )
        for n in range(400)
        for pool, size in (("h100", 1), ("b200", 2))
    ]
    settle(store, *hours)
    period = {"from_s": START + 5 * HOUR_S, "until_s": START + 397 * HOUR_S, "tz": "America/New_York"}
    sums: set[tuple[int, int, int, int]] = set()
    for every in ("total", "hour", "day", "week", "month"):
        found = asked(store, "occupancy", every=every, **period)
        parts = [(m.numerator, m.denominator, m.covered, m.coverable) for m in found]
        sums.add(tuple(map(sum, zip(*parts, strict=True))))  # type: ignore[arg-type]
        by_pool = asked(store, "occupancy", every=every, by=("pool",), **period)
        assert sum(m.numerator for m in by_pool) == sum(m.numerator for m in found)
        assert sum(m.denominator for m in by_pool) == sum(m.denominator for m in found)
    occupied = sum(1_000 * n * 3 + 2 * (7 * n + n + 3) for n in range(5, 397))
    assert {s[0] for s in sums} == {occupied}
    assert {s[2:] for s in sums} == {(392, 392)}
    assert len(sums) == 1


def test_an_hour_that_is_not_closed_is_not_covered_and_leaves_no_gap(store: Store):
    settle(store, cluster_hour(1, hour_s=START + HOUR_S, capacity_gpu_ms=GPU_H, unavailable_planned_gpu_ms=GPU_H // 4))
    found = asked(store, "availability", from_s=START, until_s=START + 3 * HOUR_S, every="hour")
    assert [(m.value, m.coverage) for m in found] == [(None, 0.0), (0.75, 1.0), (None, 0.0)]
    nothing = asked(store, "availability", "capacity_gpu_hours", from_s=0, until_s=HOUR_S, cluster="no such")
    assert [(m.value, m.coverage) for m in nothing] == [(None, 0.0), (0.0, 0.0)]


def test_clusters_pools_and_nodes_are_told_apart_and_narrowed_to(store: Store):
    rows: list[Any] = [
        cluster_hour(1, cluster=cluster, pool=pool, hour_s=START, capacity_gpu_ms=amount)
        for cluster, pool, amount in (("c", "h100", 1), ("c", "b200", 2), ("d", "h100", 4))
    ]
    rows += [node_hour(node, START, capacity_gpu_ms=amount) for node, amount in (("n1", 1), ("n2", 8))]
    settle(store, *rows)
    store.save_checkpoint("g1", checkpoint("d", seq=1))
    period = {"from_s": START, "until_s": START + HOUR_S}

    def parts(**given: Any) -> dict[tuple[str, ...], int]:
        found = asked(store, "capacity_gpu_hours", **period, **given)
        return {tuple(name for _, name in m.group): m.numerator for m in found}

    assert parts() == {(): 7}
    assert parts(by=("pool", "cluster")) == {("c", "b200"): 2, ("c", "h100"): 1, ("d", "h100"): 4}
    assert parts(by=("pool",), cluster="c") == {("b200",): 2, ("h100",): 1}
    assert parts(pool="h100") == {(): 5}
    assert parts(by=("node",)) == {("n1",): 1, ("n2",): 8}
    assert parts(node="n2") == {(): 8}
    assert asked(store, "capacity_gpu_hours", **period)[0].coverable == 2


def test_a_correction_shows_at_once_and_only_when_settled(store: Store):
    settle(store, cluster_hour(1, hour_s=START, capacity_gpu_ms=10), cluster_hour(2, hour_s=START, capacity_gpu_ms=8))
    period = {"from_s": START, "until_s": START + HOUR_S}
    assert asked(store, "capacity_gpu_hours", **period)[0].numerator == 10
    store.save_checkpoint("g1", checkpoint("c", seq=2, events=30))
    assert asked(store, "capacity_gpu_hours", **period)[0].numerator == 8


def test_funded_is_what_a_budget_pays_for(store: Store):
    hour = {"protected_gpu_ms": 30, "interruptible_gpu_ms": 20, "unfunded_gpu_ms": 40, "suspended_gpu_ms": 10}
    settle(store, cluster_hour(1, hour_s=START, capacity_gpu_ms=200, idle_gpu_ms=100, **hour))
    names = ("funded_share", "funded_gpu_hours", "unfunded_gpu_hours", "suspended_gpu_hours", "unoccupied_gpu_hours")
    found = asked(store, *names, from_s=START, until_s=START + HOUR_S)
    assert [m.numerator for m in found] == [50, 50, 40, 10, 100]
    assert found[0].value == 0.5


def test_without_samples_the_waterfall_ends_uncovered(store: Store):
    settle(store, cluster_hour(1, hour_s=START, capacity_gpu_ms=GPU_H, protected_gpu_ms=GPU_H))
    found = waterfall(store, Question(metrics=(), from_s=START, until_s=START + HOUR_S))
    assert not isinstance(found, Unanswerable)
    assert [m.value for m in found] == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert found[-1].coverage is None


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns", "Asia/Kathmandu"])
def test_zones_off_the_whole_hour_are_refused_by_name(store: Store, zone: str):
    found = measure(store, Question(metrics=("availability",), from_s=START, until_s=START + HOUR_S, tz=zone))
    assert isinstance(found, Unanswerable)
    assert found.name == "zone_off_the_hour"
    assert zone in found.sentence


def test_rows_are_of_the_type_they_should_be():
    assert {f for f in ClusterHour._fields if f.endswith("_gpu_ms")} - AMOUNTS.keys() == {"claimed_gpu_ms"}
