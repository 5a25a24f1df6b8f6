"""Samples joined with placements: whose GPU time they speak for, and how much of it."""

from typing import Any

import numpy as np
import pytest

from ledger.store.protocol import Samples, Store, coded
from tests.contract.store.rows import HOUR_S, run, tables_of

GPU_MIN_MS = 60_000


def samples(*rows: tuple[str, int, int, float], interval_s: int = 60, **given: Any) -> Samples:
    """One sample per (node, gpu, start in seconds after HOUR_S, utilization percent)."""
    number = len(rows)
    nodes, node = coded([row[0] for row in rows])

    def optional(name: str) -> Any:
        return np.full(number, given.get(name, np.nan), np.float32)

    return Samples(
        clusters=("c",),
        cluster=np.zeros(number, np.uint16),
        nodes=nodes,
        node=node,
        gpu=np.array([row[1] for row in rows], np.uint16),
        at_s=np.array([HOUR_S + row[2] for row in rows], np.int64),
        interval_s=np.full(number, interval_s, np.uint32),
        utilization_pct=np.array([row[3] for row in rows], np.float32),
        sm_active_pct=optional("sm_active_pct"),
        memory_used_mib=optional("memory_used_mib"),
        power_w=optional("power_w"),
        xid=np.full(number, given.get("xid", -1), np.int32),
    )


def roll_up(store: Store, hours: int = 1, rolled_s: int = HOUR_S) -> None:
    store.roll_up_samples("g1", "c", HOUR_S, HOUR_S + 3600 * hours, rolled_s)


def sums(store: Store, *columns: str) -> list[tuple[Any, ...]]:
    names = ", ".join(columns)
    return store.query(f"SELECT {names} FROM report_run_gpu_hours ORDER BY job, hour, node, gpu").rows


def placed(job: str, *indices: int, gpus_milli: int, **given: Any) -> Any:
    """A run on node n1 that lasts."""
    return run(
        job,
        **{
            "placed_gpus_milli": (gpus_milli,),
            "placed_gpu_indices": (indices,),
            "gpus_milli": gpus_milli,
            "ended_s": None,
        }
        | given,
    )


def test_a_named_gpu_is_its_runs_and_others_are_nobodys(store: Store):
    store.write("g1", tables_of(placed("j", 1, 2, gpus_milli=2000)))
    store.write_samples(samples(("n1", 0, 0, 99.0), ("n1", 1, 0, 50.0), ("n1", 1, 60, 100.0), ("n2", 1, 0, 99.0)))
    roll_up(store)
    columns = ("job", "attempt", "node", "gpu", "exact", "sampled_gpu_ms", "utilized_gpu_ms", "utilization_ratio")
    assert sums(store, *columns) == [("j", "1", "n1", 1, True, 2 * GPU_MIN_MS, 1.5 * GPU_MIN_MS, 0.75)]


def test_a_sample_counts_only_inside_its_run_and_its_hour(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000, started_s=HOUR_S + 30, ended_s=HOUR_S + 3600 + 15)))
    starts = (0, 60, 3590, 3650)
    store.write_samples(samples(*(("n1", 0, at, 100.0) for at in starts)))
    roll_up(store, hours=2)
    assert sums(store, "toUnixTimestamp(hour)", "sampled_gpu_ms") == [
        (HOUR_S, (30 + 60 + 10) * 1000),
        (HOUR_S + 3600, 15 * 1000),
    ]


def test_a_long_sample_is_spread_over_its_hours(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000)))
    store.write_samples(samples(("n1", 0, -1800, 10.0), interval_s=7200))
    roll_up(store, hours=2)
    assert [s for (s,) in sums(store, "sampled_gpu_ms")] == [3_600_000, 1_800_000]


def test_a_slice_of_a_gpu_counts_for_its_part(store: Store):
    store.write("g1", tables_of(placed("a", 0, gpus_milli=143), placed("b", 0, gpus_milli=286)))
    store.write_samples(samples(("n1", 0, 0, 100.0)))
    roll_up(store)
    assert sums(store, "job", "sampled_gpu_ms") == [("a", 143 * 60), ("b", 286 * 60)]


def test_two_runs_on_one_gpu_never_count_for_more_than_it(store: Store):
    store.write("g1", tables_of(placed("a", 0, gpus_milli=1000), placed("b", 0, gpus_milli=1000)))
    store.write_samples(samples(("n1", 0, 0, 100.0)))
    roll_up(store)
    assert sums(store, "job", "sampled_gpu_ms") == [("a", GPU_MIN_MS / 2), ("b", GPU_MIN_MS / 2)]


def test_runs_that_follow_each_other_inside_a_sample_share_its_time(store: Store):
    first = placed("a", gpus_milli=8000, ended_s=HOUR_S + 20)
    second = placed("b", gpus_milli=8000, started_s=HOUR_S + 20)
    store.write("g1", tables_of(first, second))
    store.write_samples(samples(*(("n1", gpu, 0, 100.0) for gpu in range(8))))
    roll_up(store)
    assert set(sums(store, "job", "sampled_gpu_ms")) == {("a", 20_000), ("b", 40_000)}


def test_without_indices_the_unnamed_gpus_of_the_node_are_shared_evenly(store: Store):
    named = placed("named", 0, 1, gpus_milli=2000)
    spread = placed("spread", gpus_milli=3000)
    store.write("g1", tables_of(named, spread))
    utilizations = (100.0, 100.0, 80.0, 40.0, 0.0, 0.0, 0.0, 0.0)
    store.write_samples(samples(*(("n1", gpu, 0, pct) for gpu, pct in enumerate(utilizations))))
    roll_up(store)
    ((exact, sampled, utilized, idle),) = store.query(
        "SELECT max(exact), sum(sampled_gpu_ms), sum(utilized_gpu_ms), sum(idle_gpu_ms) "
        "FROM report_run_gpu_hours WHERE job = 'spread'"
    ).rows
    assert (exact, sampled, idle) == (False, 3 * GPU_MIN_MS, 2 * GPU_MIN_MS)
    assert utilized == pytest.approx(0.6 * GPU_MIN_MS)
    assert [row for row in sums(store, "job", "gpu", "sampled_gpu_ms") if row[0] == "named"] == [
        ("named", 0, GPU_MIN_MS),
        ("named", 1, GPU_MIN_MS),
    ]


def test_what_was_not_sampled_is_not_made_up(store: Store):
    store.write("g1", tables_of(placed("j", gpus_milli=8000)))
    store.write_samples(samples(("n1", 3, 0, 100.0)))
    roll_up(store)
    assert sums(store, "gpu", "sampled_gpu_ms") == [(3, GPU_MIN_MS)]


def test_activity_memory_power_and_errors_are_summed_where_sampled(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000)))
    store.write_samples(samples(("n1", 0, 0, 0.0), sm_active_pct=25.0, memory_used_mib=100.0, power_w=500.0, xid=79))
    store.write_samples(samples(("n1", 0, 60, 0.0), memory_used_mib=900.0))
    roll_up(store)
    columns = ("sm_sampled_gpu_ms", "sm_active_gpu_ms", "sm_active_ratio", "idle_gpu_ms")
    assert sums(store, *columns) == [(GPU_MIN_MS, GPU_MIN_MS / 4, 0.25, GPU_MIN_MS)]
    assert sums(store, "max_memory_used_mib", "energy_j", "xids") == [(900.0, 30_000.0, [79])]


def test_a_sample_sent_twice_and_a_sum_made_twice_are_one(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000)))
    for _ in range(2):
        store.write_samples(samples(("n1", 0, 0, 100.0)))
        roll_up(store)
    assert sums(store, "sampled_gpu_ms") == [(GPU_MIN_MS,)]


def test_a_later_sum_replaces_the_earlier_one_and_takes_back_what_is_gone(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000, seq=1), placed("k", 1, gpus_milli=1000, seq=1)))
    store.write_samples(samples(("n1", 0, 0, 100.0), ("n1", 1, 0, 100.0)))
    roll_up(store, rolled_s=HOUR_S)
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000, seq=2, ended_s=HOUR_S + 30)))
    store.write("g1", tables_of(placed("k", 1, gpus_milli=1000, seq=2, ended_s=HOUR_S)))
    roll_up(store, rolled_s=HOUR_S + 60)
    assert sums(store, "job", "sampled_gpu_ms") == [("j", 30_000)]
    store.write("g1", tables_of(placed("k", 1, gpus_milli=1000, seq=3)))
    roll_up(store, rolled_s=HOUR_S + 120)
    assert sums(store, "job", "sampled_gpu_ms") == [("j", 30_000), ("k", 60_000)]


def test_whole_weeks_expire_and_their_sums_stay(store: Store):
    week_s = 7 * 86_400
    monday_s = 1_699_833_600  # 2023-11-13, the week of HOUR_S
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000)))
    store.write_samples(samples(("n1", 0, 0, 100.0), ("n1", 0, week_s, 100.0)))
    roll_up(store)
    left = []
    for before_s in (monday_s + week_s - 1, monday_s + week_s, monday_s + week_s):
        store.expire_samples(before_s)
        left.append(store.query("SELECT count() FROM gpu_samples").rows[0][0])
    assert left == [2, 1, 1]
    roll_up(store, rolled_s=HOUR_S + 1)
    assert len(sums(store, "hour")) == 1


def test_hours_still_open_are_not_summed(store: Store):
    store.write("g1", tables_of(placed("j", 0, gpus_milli=1000)))
    store.write_samples(samples(("n1", 0, 0, 100.0), ("n1", 0, 3600, 100.0)))
    store.roll_up_samples("g1", "c", HOUR_S - 5, HOUR_S + 3600 + 1800, HOUR_S)
    assert sums(store, "toUnixTimestamp(hour)") == [(HOUR_S,)]
    store.roll_up_samples("g1", "c", HOUR_S, HOUR_S, HOUR_S)
