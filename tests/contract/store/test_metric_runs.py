"""The metrics of runs and requests: waits, priorities, what samples say, what was lost."""

from typing import Any

import numpy as np
import pytest

from ledger.metrics import Metric, Question, Unanswerable
from ledger.rows import Job, Posting, Run
from ledger.store.metrics import measure, waterfall
from ledger.store.protocol import Samples, Store
from ledger.units import HOUR_S
from tests.contract.store.rows import HOUR_S as START
from tests.contract.store.rows import checkpoint, cluster_hour, make, posting, run, tables_of

PERIOD = {"from_s": START, "until_s": START + 4 * HOUR_S}
GPU_H = 3_600_000


def settle(store: Store, *rows: Any, **given: Any) -> None:
    hours = [cluster_hour(1, hour_s=START + n * HOUR_S, capacity_gpu_ms=16 * GPU_H) for n in range(4)]
    store.write("g1", tables_of(*rows, *hours))
    store.save_checkpoint("g1", checkpoint("c", seq=1, **{"ticked_s": START + 4 * HOUR_S} | given))


def asked(store: Store, *metrics: str, **given: Any) -> list[Metric]:
    found = measure(store, Question(metrics=metrics, **PERIOD | given))
    assert not isinstance(found, Unanswerable), found.sentence
    return found


def by(metrics: list[Metric], dimension: str) -> dict[str, tuple[int, int]]:
    return {metric.of(dimension): (metric.numerator, metric.denominator) for metric in metrics}


# ---------------------------------------------------------------- waits


def waited(job: str, wait_s: int | None, **given: Any) -> Run:
    """A run that started at START after so long a wait, of a job of which the store has no row."""
    asked_s = None if wait_s is None else START - wait_s
    return run(job, **{"submitted_s": asked_s, "eligible_s": None, "seq": 1} | given)


def test_ranks_are_waits_that_happened(store: Store):
    settle(store, *(waited(f"j{n}", 60 * n) for n in range(1, 11)))
    median, p90 = asked(store, "queue_wait_median", "queue_wait_p90")
    assert (median.value, p90.value, median.coverage) == (300, 540, 1.0)
    assert median.unit == "s"


@pytest.mark.parametrize(
    ("waits", "median", "p90"), [([7], 7, 7), ([1, 9], 1, 9), ([3, 1, 2], 2, 3), ([0] * 9 + [5], 0, 0)]
)
def test_of_few_waits_the_rank_is_the_nearest(store: Store, waits: list[int], median: int, p90: int):
    settle(store, *(waited(f"j{n}", wait_s) for n, wait_s in enumerate(waits)))
    assert [m.value for m in asked(store, "queue_wait_median", "queue_wait_p90")] == [median, p90]


def test_a_wait_that_nobody_told_is_not_taken_for_none(store: Store):
    settle(store, waited("told", 100), waited("untold", None), waited("neither", None))
    (median,) = asked(store, "queue_wait_median")
    assert (median.value, median.covered, median.coverable) == (100, 1, 3)
    (nothing,) = asked(store, "queue_wait_median", user="nobody")
    assert (nothing.value, nothing.coverage) == (None, None)


def test_waits_by_funding_kind_and_size(store: Store):
    settle(
        store,
        waited("a", 10, gpus_milli=500, kind="debug"),
        waited("b", 20, gpus_milli=1000, kind="session"),
        waited("c", 30, gpus_milli=7999, funded=False, account="lab/x"),
        waited("d", 40, gpus_milli=8000, funded=False, account=""),
        waited("e", 50, gpus_milli=16_000),
        waited("f", 60, gpus_milli=64_000),
        waited("g", 70, gpus_milli=128_000),
    )

    def medians(dimension: str) -> dict[str, float | None]:
        return {m.of(dimension): m.value for m in asked(store, "queue_wait_median", by=(dimension,))}

    sizes = {"under 1": 10, "1": 20, "2-7": 30, "8-15": 40, "16-63": 50, "64+": 60, "128+": 70}
    assert medians("size") == sizes
    assert medians("funding") == {"funded": 50, "unfunded": 30}
    assert medians("kind") == {"debug": 10, "session": 20, "x": 50}
    assert medians("account") == {"": 40, "lab": 30, "lab/x": 30, "x": 50}


def test_waits_of_funded_work_are_of_where_it_is_booked(store: Store):
    settle(
        store,
        waited("own", 10, account="lab/x", ledger_account="lab/x/."),
        waited("free", 20, account="lab/y", ledger_account="", funded=False),
    )
    found = asked(store, "queue_wait_median", by=("account",))
    assert {m.of("account"): m.value for m in found} == {"lab": 10, "lab/x": 10, "lab/x/.": 10, "lab/y": 20}
    assert [m.value for m in asked(store, "queue_wait_median", account="lab/y")] == [20]


def test_a_further_attempt_waits_from_the_end_of_the_one_before(store: Store):
    first = waited("j", 100, attempt="b", ordinal=1, started_s=START, ended_s=START + 1800, seq=3)
    again = waited("j", 100, attempt="c", ordinal=2, started_s=START + 4000, ended_s=START + 5000, seq=2)
    resubmitted = waited("j", 100, attempt="a", ordinal=3, submitted_s=START + 6000, started_s=START + 6100, seq=1)
    settle(store, first, again, resubmitted)
    found = asked(store, "queue_wait_p90", every="hour")
    assert [m.value for m in found] == [100, 4000 - 1800, None, None]
    assert [m.covered for m in found] == [1, 2, 0, 0]


def test_of_a_job_with_one_attempt_the_wait_leaves_out_what_was_held(store: Store):
    settle(store, waited("j", 5000), make(Job, cluster="c", job="j", attempts=1, waited_s=77, seq=1))
    assert [m.value for m in asked(store, "queue_wait_median")] == [77]


# ---------------------------------------------------------------- requests


def job(name: str, priority: int, **given: Any) -> Job:
    filled = {"cluster": "c", "job": name, "priority": priority, "gpus_milli": 1000, "submitted_s": START, "seq": 1}
    return make(Job, **filled | given)


def test_inflation_is_the_share_of_high_priority_over_time(store: Store):
    settle(
        store,
        job("a", 0),
        job("b", 1, gpus_milli=7000, user="ann"),
        job("c", 2, submitted_s=START + HOUR_S),
        job("d", -1, submitted_s=START + HOUR_S + 1, account="lab/x"),
        job("e", 5, submitted_s=START + HOUR_S + 2, account="lab/x"),
        job("before", 9, submitted_s=START - 1),
        job("never", 9, submitted_s=None),
    )
    share = asked(store, "high_priority_share", every="hour")
    assert [(m.numerator, m.denominator) for m in share] == [(1, 2), (2, 3), (0, 0), (0, 0)]
    (gpus,) = asked(store, "high_priority_gpu_share", until_s=START + HOUR_S)
    assert (gpus.numerator, gpus.denominator) == (7000, 8000)
    assert by(asked(store, "high_priority_share", by=("account",), account="lab"), "account") == {
        "lab": (1, 2),
        "lab/x": (1, 2),
    }
    assert by(asked(store, "high_priority_share", high_priority=2), "") == {"": (2, 5)}


# ---------------------------------------------------------------- what samples say


def occupied(name: str, hours: float, n: int = 0, **given: Any) -> Posting:
    """`hours` GPU-hours of a run on a node in the n-th hour."""
    filled = {"book": "capacity", "kind": "occupied", "class_": "protected", "account": "lab/x", "pool": "h100"}
    where = {"node": "n1", "run": f"{name}/1", "hour_s": START + n * HOUR_S}
    return posting(1, int(hours * GPU_H), **filled | where | given)


def sample(store: Store, node: str, gpu: int, n: int, pct: float, *, hours: float = 1, sm: float = np.nan) -> None:
    """One sample of a GPU from the n-th hour on."""
    store.write_samples(
        Samples(
            clusters=("c",),
            cluster=np.zeros(1, np.uint16),
            nodes=(node,),
            node=np.zeros(1, np.uint16),
            gpu=np.array([gpu], np.uint16),
            at_s=np.array([START + n * HOUR_S], np.int64),
            interval_s=np.array([int(hours * HOUR_S)], np.uint32),
            utilization_pct=np.array([pct], np.float32),
            sm_active_pct=np.array([sm], np.float32),
            memory_used_mib=np.array([np.nan], np.float32),
            power_w=np.array([np.nan], np.float32),
            xid=np.array([-1], np.int32),
        )
    )


def two_gpus(name: str, *gpus: int, **given: Any) -> Run:
    """A run of two GPUs on n1 over two hours."""
    filled = {"placed_gpus_milli": (2000,), "placed_gpu_indices": (gpus,), "gpus_milli": 2000, "seq": 1}
    return run(name, **filled | {"ended_s": START + 2 * HOUR_S, "running_s": 2 * HOUR_S} | given)


def sampled(store: Store) -> None:
    """Ann's run j: two GPUs for two hours, one of them sampled in the first hour at 50 %, both in the second, one idle.

    Bob's run f is unfunded: two GPUs for an hour, one half an hour at 90 %.
    """
    settle(
        store,
        two_gpus("j", 0, 1, user="ann"),
        two_gpus("f", 2, 3, user="bob", funded=False, ended_s=START + HOUR_S, running_s=HOUR_S),
        occupied("j", 2, 0),
        occupied("j", 1.5, 1),
        occupied("j", 0.5, 1, class_="interruptible"),
        occupied("f", 2, 0, class_="unfunded", account=""),
    )
    sample(store, "n1", 0, 0, 50.0, sm=25.0)
    sample(store, "n1", 0, 1, 100.0)
    sample(store, "n1", 1, 1, 0.0, sm=0.0)
    sample(store, "n1", 2, 0, 90.0, hours=0.5)
    store.roll_up_samples("g1", "c", START, START + 2 * HOUR_S, START + 2 * HOUR_S)


def test_utilization_is_of_what_was_sampled_and_says_how_much_that_is(store: Store):
    sampled(store)
    found = asked(store, "utilization", by=("user",))
    ann, bob = found
    assert (ann.of("user"), ann.numerator, ann.denominator) == ("ann", GPU_H * 3 // 2, 3 * GPU_H)
    assert (ann.covered, ann.coverable) == (3 * GPU_H, 4 * GPU_H)
    assert (bob.of("user"), bob.value, bob.coverage) == ("bob", 0.9, 0.25)
    (everybody,) = asked(store, "utilization")
    assert (everybody.numerator, everybody.denominator) == (int(1.95 * GPU_H), int(3.5 * GPU_H))
    assert (everybody.covered, everybody.coverable) == (int(3.5 * GPU_H), 6 * GPU_H)


def test_idle_and_sm_activity(store: Store):
    sampled(store)
    idle, share, sm = asked(store, "idle_gpu_hours", "idle_share", "sm_activity", by=("account",), account="lab/x")
    assert (idle.value, idle.coverage) == (1.0, 0.75)
    assert share.exact is not None
    assert (share.numerator, share.denominator) == (GPU_H, 3 * GPU_H)
    assert (sm.numerator, sm.denominator, sm.coverage) == (GPU_H // 4, 2 * GPU_H, 0.5)


def test_hours_of_samples_add_up_and_leaves_do(store: Store):
    sampled(store)
    for name in ("utilization", "idle_gpu_hours", "funded_share", "occupied_gpu_hours", "funded_utilized_gpu_hours"):
        (whole,) = asked(store, name, kind="x")
        hourly = asked(store, name, every="hour", by=("kind",))
        assert sum(m.numerator for m in hourly) == whole.numerator
        assert [sum(m.covered for m in hourly), sum(m.coverable for m in hourly)] == [whole.covered, whole.coverable]
        accounts = by(asked(store, name, by=("account",)), "account")
        assert accounts["lab"] == accounts["lab/x"]
        assert accounts["lab"][0] + accounts[""][0] == whole.numerator


def test_without_samples_nothing_is_busy_and_nothing_idle(store: Store):
    settle(store, two_gpus("j", 0, 1), occupied("j", 2))
    utilization, idle = asked(store, "utilization", "idle_gpu_hours")
    assert (utilization.value, utilization.coverage) == (None, 0.0)
    assert (idle.value, idle.coverage) == (0.0, 0.0)


def test_funded_time_by_user_job_and_node(store: Store):
    sampled(store)
    assert by(asked(store, "funded_share", by=("user",)), "user") == {
        "ann": (4 * GPU_H, 4 * GPU_H),
        "bob": (0, 2 * GPU_H),
    }
    assert by(asked(store, "occupied_gpu_hours", by=("job",)), "job") == {
        "f": (2 * GPU_H, GPU_H),
        "j": (4 * GPU_H, GPU_H),
    }
    assert by(asked(store, "unfunded_gpu_hours", by=("user",), job="f"), "user") == {"bob": (2 * GPU_H, GPU_H)}
    assert by(asked(store, "utilization", by=("node",), user="bob"), "node") == {"n1": (1_620_000, 1_800_000)}


def test_a_correction_of_what_was_occupied_takes_its_samples_along(store: Store):
    sampled(store)
    moved = [
        occupied("f", -2, 0, class_="unfunded", account="", cause=b"c" * 16),
        occupied("f", 2, 0, class_="unfunded", account="lab/y", cause=b"c" * 16),
    ]
    store.write("g1", tables_of(*moved))
    assert by(asked(store, "utilized_gpu_hours", by=("account",), account="lab/y"), "account") == {
        "lab/y": (1_620_000, GPU_H)
    }
    assert "" not in by(asked(store, "utilized_gpu_hours", by=("account",)), "account")


def test_a_run_booked_in_two_parts_has_its_samples_once(store: Store):
    settle(store, two_gpus("j", 0, 1), occupied("j", 0.5), occupied("j", 1.5, pool="b200"))
    sample(store, "n1", 0, 0, 100.0)
    store.roll_up_samples("g1", "c", START, START + HOUR_S, START + HOUR_S)
    assert by(asked(store, "utilized_gpu_hours", by=("pool",)), "pool") == {"b200": (GPU_H, GPU_H), "h100": (0, GPU_H)}


def test_samples_of_a_released_pause_cover_nothing(store: Store):
    settle(store, two_gpus("j", 0, 1), occupied("j", 0.5), occupied("j", 2, 1))
    sample(store, "n1", 0, 0, 100.0)
    store.roll_up_samples("g1", "c", START, START + HOUR_S, START + HOUR_S)
    found = asked(store, "utilization", "funded_utilized_gpu_hours")
    assert [(m.covered, m.coverable) for m in found] == [(GPU_H // 2, GPU_H * 5 // 2)] * 2


def test_each_node_of_a_run_has_its_own_samples(store: Store):
    nodes = {"placed_nodes": ("n1", "n2"), "placed_gpus_milli": (1000, 1000), "placed_gpu_indices": ((0,), (0,))}
    settle(store, two_gpus("j", **nodes), occupied("j", 1), occupied("j", 1, node="n2"))
    sample(store, "n1", 0, 0, 100.0)
    sample(store, "n2", 0, 0, 50.0)
    store.roll_up_samples("g1", "c", START, START + HOUR_S, START + HOUR_S)
    found = by(asked(store, "utilization", by=("node", "job")), "node")
    assert found == {"n1": (GPU_H, GPU_H), "n2": (GPU_H // 2, GPU_H)}
    assert by(asked(store, "utilization", node="n2"), "") == {"": (GPU_H // 2, GPU_H)}


def test_a_job_is_not_one_whose_name_begins_alike(store: Store):
    settle(store, run("a", seq=1), run("a/b", seq=1), occupied("a", 1), occupied("a/b", 2))
    assert by(asked(store, "occupied_gpu_hours", job="a"), "") == {"": (GPU_H, GPU_H)}


def test_the_waterfall_falls(store: Store):
    sampled(store)
    hour = {"capacity_gpu_ms": 16 * GPU_H, "unavailable_planned_gpu_ms": 4 * GPU_H}
    store.write(
        "g1",
        tables_of(
            cluster_hour(1, hour_s=START, protected_gpu_ms=2 * GPU_H, unfunded_gpu_ms=2 * GPU_H, **hour),
            cluster_hour(1, hour_s=START + HOUR_S, protected_gpu_ms=2 * GPU_H, **hour),
        ),
    )
    found = waterfall(store, Question(metrics=(), from_s=START, until_s=START + 2 * HOUR_S, by=("pool",)))
    assert not isinstance(found, Unanswerable)
    assert [(m.name, m.value, m.coverage) for m in found] == [
        ("capacity_gpu_hours", 32.0, 1.0),
        ("available_gpu_hours", 24.0, 1.0),
        ("occupied_gpu_hours", 6.0, 1.0),
        ("funded_gpu_hours", 4.0, 1.0),
        ("funded_utilized_gpu_hours", 1.5, 0.75),
    ]


# ---------------------------------------------------------------- goodput


def ended(name: str, outcome: str, ran_s: int = 1800, **given: Any) -> Run:
    """One GPU from START on."""
    filled = {"gpus_milli": 1000, "ended_s": START + ran_s, "running_s": ran_s, "outcome": outcome, "seq": 1}
    return run(name, **filled | {"resumable": False, "checkpointed_s": None} | given)


LOST = ("lost_to_failures_gpu_hours", "lost_to_preemption_gpu_hours", "lost_to_restarts_gpu_hours")


def test_what_is_lost_is_what_was_not_banked(store: Store):
    banked = {"resumable": True, "checkpointed_s": START + 1200}
    settle(
        store,
        ended("fine", "succeeded"),
        ended("cancelled", "cancelled"),
        ended("late", "timeout"),
        ended("node", "node_failure", **banked),
        ended("bug", "failed"),
        ended("memory", "out_of_memory", 100),
        ended("taken", "preempted", **banked),
        ended("taken whole", "preempted", resumable=True),
        ended("cannot resume", "preempted", checkpointed_s=START + 1200),
        ended("again", "requeued", 50),
        run("runs", ended_s=None, running_s=None, seq=1),
    )
    lost = asked(store, *LOST)
    assert [m.numerator for m in lost] == [1000 * (600 + 1800 + 100), 1000 * (600 + 1800 + 1800), 1000 * 50]
    assert {m.coverage for m in lost} == {1.0}
    (goodput,) = asked(store, "goodput")
    ran = 1000 * (8 * 1800 + 100 + 50)
    assert (goodput.numerator, goodput.denominator) == (ran - 1000 * (2500 + 4200 + 50), ran)
    outcomes = by(asked(store, LOST[0], by=("outcome",)), "outcome")
    assert {name: part for name, (part, _) in outcomes.items() if part} == {
        "failed": 1_800_000,
        "node_failure": 600_000,
        "out_of_memory": 100_000,
    }


def test_pauses_after_a_checkpoint_make_the_loss_an_upper_bound(store: Store):
    paused = {"resumable": True, "checkpointed_s": START + 600, "suspended_s": 900, "running_s": 900}
    settle(store, ended("j", "preempted", **paused), ended("k", "preempted", 100))
    (lost,) = asked(store, LOST[1])
    assert (lost.numerator, lost.covered, lost.coverable) == (1_000_000, 100_000, 1_000_000)


def test_a_loss_without_a_checkpoint_of_the_run_is_exact_whatever_was_paused(store: Store):
    paused = {"suspended_s": 900, "running_s": 900}
    settle(
        store,
        ended("never", "preempted", resumable=True, **paused),
        ended("cannot", "preempted", checkpointed_s=START + 600, **paused),
        ended("before", "preempted", resumable=True, checkpointed_s=START, **paused),
    )
    (lost,) = asked(store, LOST[1])
    assert (lost.numerator, lost.coverage) == (3 * 900_000, 1.0)


def test_losses_by_funding_user_and_account(store: Store):
    settle(
        store,
        ended("a", "preempted", user="ann", ledger_account="lab/x/."),
        ended("b", "preempted", 600, user="bob", funded=False, account="lab/y"),
    )
    assert by(asked(store, LOST[1], by=("funding",)), "funding") == {
        "funded": (1_800_000, GPU_H),
        "unfunded": (600_000, GPU_H),
    }
    found = by(asked(store, LOST[1], by=("account",), depth=2), "account")
    assert found == {"lab/x": (1_800_000, GPU_H), "lab/y": (600_000, GPU_H)}
    assert [m.numerator for m in asked(store, LOST[1], user="bob")] == [600_000]


def test_instants_are_cut_in_any_zone(store: Store):
    settle(store, ended("a", "preempted", 1799), ended("b", "preempted", 1800))
    # 23:00 UTC is 04:30 in Kolkata: half past the hour there is on the hour here.
    begin = START - 1800
    found = asked(store, LOST[1], from_s=begin, until_s=begin + 2 * HOUR_S, every="hour", tz="Asia/Kolkata")
    assert [m.numerator for m in found] == [1_799_000, 1_800_000]
