"""The oracle itself, on cases small enough to work out by hand. GPU-ms = milli-GPUs × seconds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.events import EVENT, Event
from ledger.units import epoch_s
from tests.oracle.logs import accepted, is_observation, logs, recorded, seeded_log, shuffled, with_repeats
from tests.oracle.naive import Naive

T0 = datetime(2026, 3, 2, tzinfo=UTC)
H0, H1, H2 = (epoch_s(T0) + 3600 * n for n in range(3))
HOUR = timedelta(hours=1)


def t(hours: int = 0, minutes: int = 0, seconds: float = 0) -> datetime:
    return T0 + timedelta(hours=hours, minutes=minutes, seconds=seconds)


def s(hours: int = 0, minutes: int = 0, seconds: int = 0) -> int:
    return epoch_s(t(hours, minutes, seconds))


class Log:
    """A log told in the order it is written down."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def say(self, type: str, time: datetime, **data: Any) -> "Log":
        envelope = {"type": f"tenure.{type}.v1", "id": f"e{len(self.events)}", "source": "test", "time": time}
        data = {"cluster": "c"} | data
        self.events.append(EVENT.validate_python(envelope | {"recordedtime": time, "data": data}))
        return self

    def node(self, time: datetime, node: str, milli: int, state: str = "available", gpu_type: str = "a") -> "Log":
        return self.say("node.observed", time, node=node, gpu_type=gpu_type, gpus_milli=milli, state=state)

    def shares(self, time: datetime, parent: str, children: dict[str, Any], **data: Any) -> "Log":
        """`children` maps to a percent, or to (percent, slot limit)."""
        pairs = {child: line if isinstance(line, tuple) else (line, None) for child, line in children.items()}
        lines = [
            {"child": child, "share_percent": percent, "slot_limit_milli": limit}
            for child, (percent, limit) in pairs.items()
        ]
        data = {"author": "ann", "expected_revision": 0} | data
        return self.say("shares.set", time, parent=parent, children=lines, **data)

    def submitted(self, time: datetime, job: str, milli: int, account: str | None, **data: Any) -> "Log":
        data = {"user": "ann", "min_runtime_s": 3600} | data
        return self.say("job.submitted", time, job=job, gpus_milli=milli, account=account, **data)

    def started(self, time: datetime, job: str, attempt: str, **placed: int) -> "Log":
        placements = [{"node": node, "gpus_milli": milli} for node, milli in placed.items()]
        return self.say("job.started", time, job=job, attempt=attempt, placements=placements)

    def observed(self, time: datetime, job: str, attempt: str, **data: Any) -> "Log":
        data = {"user": "ann", "account": "lab/x", "min_runtime_s": 3600} | data
        data.setdefault("placements", [{"node": "n", "gpus_milli": 1000}])
        return self.say("run.observed", time, job=job, attempt=attempt, **data)

    def ended(self, time: datetime, job: str, attempt: str | None, outcome: str = "succeeded") -> "Log":
        return self.say("job.ended", time, job=job, attempt=attempt, outcome=outcome)

    def book(self) -> Naive:
        return Naive(accepted(self.events))


def cluster() -> Log:
    """Four GPUs of type a on node n, lab/x 50 % and lab/y 25 % (so lab/. 25 %), from the first hour on."""
    log = Log().say("policy.set", t(-1), author="ann", opens_at=T0)
    return log.node(T0, "n", 4000).shares(T0, "lab", {"x": 50, "y": 25})


def test_a_funded_run_over_the_hour():
    # Two GPUs from 00:30 to 01:20, minimum runtime 40 min: protected until 01:10, interruptible after.
    log = cluster().submitted(t(0, 30), "j", 2000, "lab/x", min_runtime_s=2400)
    book = log.started(t(0, 30), "j", "1", n=2000).ended(t(1, 20), "j", "1").book()
    assert book.postings(H0) == {
        ("a", "capacity", "", "", "capacity", "n", ""): -14_400_000,  # 4000 × 3600
        ("a", "capacity", "lab/x", "protected", "occupied", "n", "j/1"): 3_600_000,  # 2000 × 1800
        ("a", "capacity", "", "", "idle", "n", ""): 10_800_000,  # 4000 × 1800 + 2000 × 1800
        ("a", "budget", "", "pool", "claim", "", ""): -14_400_000,
        ("a", "budget", "lab/x", "budget", "claim", "", ""): 7_200_000,
        ("a", "budget", "lab/y", "budget", "claim", "", ""): 3_600_000,
        ("a", "budget", "lab/.", "budget", "claim", "", ""): 3_600_000,
        ("a", "budget", "lab/x", "budget", "charge", "", "j/1"): -3_600_000,
        ("a", "budget", "lab/x", "spent", "charge", "", "j/1"): 3_600_000,
    }
    hour_1 = book.postings(H1)
    assert hour_1["a", "capacity", "lab/x", "protected", "occupied", "n", "j/1"] == 1_200_000  # 2000 × 600
    assert hour_1["a", "capacity", "lab/x", "interruptible", "occupied", "n", "j/1"] == 1_200_000
    assert hour_1["a", "budget", "lab/x", "spent", "charge", "", "j/1"] == 2_400_000
    assert book.account_hours(H0)["a", "lab/x"] == {
        "claim_gpu_ms": 7_200_000,
        "grant_gpu_ms": 0,
        "charged_gpu_ms": 3_600_000,
        "refunded_gpu_ms": 0,
        "demand_gpu_ms": 3_600_000,
        "owed_gpu_ms": 3_600_000,
        "commitment_gpu_ms": 1_200_000,  # 10 of the 40 minutes are left at 01:00: 2000 × 600
        "unfunded_gpu_ms": 0,
    }
    assert book.account_hours(H0)["a", "lab/y"]["owed_gpu_ms"] == 0
    assert book.cluster_hours(H0)["a"]["claimed_gpu_ms"] == 14_400_000
    assert book.node_hours(H1)["a", "n"]["idle_gpu_ms"] == 12_000_000  # 4000 × 3600 − 2000 × 1200
    run = book.runs()["j", "1"]
    assert (run["funded"], run["booked_account"], run["contract_end_s"]) == (True, "lab/x", s(1, 10))
    assert (run["started_s"], run["ended_s"], run["running_s"]) == (s(0, 30), s(1, 20), 3000)


def test_pauses_move_the_contract_end_and_are_not_charged():
    # Minimum runtime 20 min from 00:00. Kept pause 00:10-00:15, released pause 00:20-00:30: ends 00:35.
    log = cluster().submitted(T0, "j", 1000, "lab/x", min_runtime_s=1200).started(T0, "j", "1", n=1000)
    log.say("job.suspended", t(0, 10), job="j", attempt="1").say("job.resumed", t(0, 15), job="j", attempt="1")
    log.say("job.suspended", t(0, 20), job="j", attempt="1", releases_gpus=True)
    log.say("job.suspended", t(0, 25), job="j", attempt="1")  # no effect inside an open one
    log.say("job.resumed", t(0, 30), job="j", attempt="1")
    book = log.ended(t(0, 40), "j", "1").book()
    run = book.runs()["j", "1"]
    assert (run["contract_end_s"], run["running_s"], run["suspended_s"]) == (s(0, 35), 1500, 900)
    sums = book.node_hours(H0)["a", "n"]
    assert sums["protected_gpu_ms"] == 1_200_000
    assert sums["interruptible_gpu_ms"] == 300_000
    assert sums["suspended_gpu_ms"] == 300_000
    assert sums["idle_gpu_ms"] == 14_400_000 - 1_800_000
    assert book.account_hours(H0)["a", "lab/x"]["charged_gpu_ms"] == 1_500_000
    assert book.account_hours(H0)["a", "lab/x"]["demand_gpu_ms"] == 1_500_000


def test_an_open_pause_holds_the_contract_and_the_commitment():
    log = cluster().submitted(T0, "j", 1000, "lab/x").started(T0, "j", "1", n=1000)
    kept = log.say("job.suspended", t(0, 10), job="j", attempt="1").book()
    assert kept.runs()["j", "1"]["contract_end_s"] is None
    assert kept.account_hours(H1)["a", "lab/x"]["commitment_gpu_ms"] == 3_000_000  # 50 of 60 min are left
    log.events.pop()
    released = log.say("job.suspended", t(0, 10), job="j", attempt="1", releases_gpus=True).book()
    assert released.account_hours(H1)["a", "lab/x"]["commitment_gpu_ms"] == 0


def test_a_node_failure_gives_back_what_ran_since_the_checkpoint():
    # 00:10 to 01:30 on one GPU, checkpoint at 00:50: 10 min of hour 0 and 30 min of hour 1 come back.
    log = cluster().submitted(T0, "j", 1000, "lab/x").started(t(0, 10), "j", "1", n=1000)
    log.say("job.checkpointed", t(0, 50), job="j", attempt="1")
    log.say("job.checkpointed", t(1, 40), job="j", attempt="1")  # after the end: not the last one before it
    book = log.ended(t(1, 30), "j", "1", "node_failure").book()
    rows = [book.account_hours(hour)["a", "lab/x"] for hour in (H0, H1)]
    assert [row["charged_gpu_ms"] for row in rows] == [3_000_000, 1_800_000]
    assert [row["refunded_gpu_ms"] for row in rows] == [600_000, 1_800_000]
    assert book.postings(H0)["a", "budget", "lab/x", "spent", "refund", "", "j/1"] == -600_000
    assert book.postings(H0)["a", "budget", "lab/x", "budget", "refund", "", "j/1"] == 600_000


def test_a_refund_goes_back_over_four_hours_of_running():
    # 00:00 to 06:00 with a pause 03:00-04:30: the last 4 h of running began at 00:30.
    log = cluster().submitted(T0, "j", 1000, "lab/x").started(T0, "j", "1", n=1000)
    log.say("job.suspended", t(3), job="j", attempt="1").say("job.resumed", t(4, 30), job="j", attempt="1")
    book = log.ended(t(6), "j", "1", "node_failure").book()
    refunds = [book.account_hours(H0 + 3600 * n)["a", "lab/x"]["refunded_gpu_ms"] for n in range(6)]
    assert refunds == [1_800_000, 3_600_000, 3_600_000, 0, 1_800_000, 3_600_000]


def test_what_is_placed_beyond_the_node_is_overbooked():
    # Four GPUs hold six for half an hour; a node nobody spoke of holds one, in the pool the job asked for.
    log = cluster().submitted(T0, "j", 7000, None, gpu_type="b")
    log.started(t(0, 30), "j", "1", n=6000, ghost=1000).node(t(0, 45), "n", 4000, "down")
    log.ended(t(0, 50), "j", "1")
    postings = log.book().postings(H0)
    # 00:30-00:50: 6000 on n; down from 00:45, of which occupied wins until 00:50; 10 min unavailable.
    assert postings["a", "capacity", "", "", "overbooked", "n", ""] == -2_400_000  # 2000 × 1200
    assert postings["a", "capacity", "", "unfunded", "occupied", "n", "j/1"] == 7_200_000  # 6000 × 1200
    assert postings["a", "capacity", "", "unplanned", "unavailable", "n", ""] == 2_400_000  # 4000 × 600
    assert postings["a", "capacity", "", "", "idle", "n", ""] == 7_200_000  # 4000 × 1800
    assert postings["b", "capacity", "", "", "overbooked", "ghost", ""] == -1_200_000
    assert postings["b", "capacity", "", "unfunded", "occupied", "ghost", "j/1"] == 1_200_000
    assert ("b", "capacity", "", "", "capacity", "ghost", "") not in postings
    assert log.book().account_hours(H0)["b", ""]["unfunded_gpu_ms"] == 1_200_000


def test_of_two_statements_in_one_second_the_later_holds_from_that_second_on():
    log = cluster().node(t(0, 30, 0.9), "n", 4000, "draining").node(t(0, 30, 0.1), "n", 8000)
    log.say("node.removed", t(0, 40), node="n")
    sums = log.book().node_hours(H0)["a", "n"]
    assert sums["capacity_gpu_ms"] == 4000 * 2400
    assert sums["idle_gpu_ms"] == 4000 * 1800
    assert sums["unavailable_planned_gpu_ms"] == 4000 * 600


def test_a_claim_is_cut_to_a_whole_number_once_per_hour():
    # One milli-GPU. lab/x: 33.333333 % for 20 min, 0.1 % for 20 min, then x is interior: x/p has 50 % of 10 %.
    log = Log().say("policy.set", t(-1), author="ann", opens_at=T0).node(T0, "n", 1)
    log.shares(T0, "lab", {"x": "33.333333"})
    log.shares(t(0, 20), "lab", {"x": "0.1"}, expected_revision=1)
    log.shares(t(0, 40), "lab", {"x": 10}, expected_revision=2)
    log.shares(t(0, 40), "lab/x", {"p": 50, ".": 25})
    claims = {key[1]: row["claim_gpu_ms"] for key, row in log.book().account_hours(H0).items()}
    assert claims == {
        "lab/x": 401,  # 399.999996 + 1.2 = 401.199996; cut piece by piece it would be 400
        "lab/.": 3078,  # 800.000004 + 1198.8 + 1080 = 3078.800004
        "lab/x/p": 60,  # 1200 × 0.1 × 0.5
        "lab/x/.": 30,  # as the set says; a quarter of x stays in the pool
    }


def test_a_back_dated_revision_and_a_later_one_in_force():
    # Revision 2 is in force from 00:45, revision 3 is back-dated to 00:15: the highest in force counts.
    log = cluster().shares(t(0, 45), "lab", {"x": 0}, expected_revision=1)
    back = {"effective_at": t(0, 15), "backdated": True, "reason": "agreed"}
    log.shares(t(0, 50), "lab", {"x": 100}, expected_revision=2, **back)
    rows = log.book().account_hours(H0)
    assert rows["a", "lab/x"]["claim_gpu_ms"] == 4000 * 900 // 2 + 4000 * 2700
    assert rows["a", "lab/y"]["claim_gpu_ms"] == 4000 * 900 // 4


def test_a_pool_with_a_set_of_its_own_leaves_the_common_one():
    log = cluster().node(T0, "m", 1000, gpu_type="b").shares(t(0, 30), "lab", {"z": 100}, gpu_type="b")
    claims = {key: row["claim_gpu_ms"] for key, row in log.book().account_hours(H0).items() if key[0] == "b"}
    assert claims == {
        ("b", "lab/x"): 900_000,  # 1000 × 1800 × 50 %
        ("b", "lab/y"): 450_000,
        ("b", "lab/."): 450_000,
        ("b", "lab/z"): 1_800_000,
    }


def test_a_slot_limit_admits_whole_jobs_running_first_then_by_submit_time():
    # lab/x may run three GPUs. Two run; of the waiting ones (2, then 1, then 1) only the second has room.
    log = cluster().shares(T0, "lab", {"x": (50, 3000), "y": 25}, expected_revision=1)
    log.submitted(T0, "r", 2000, "lab/x").started(T0, "r", "1", n=2000)
    log.submitted(t(0, 0, 1), "a-two", 2000, "lab/x").submitted(t(0, 0, 2), "b-one", 1000, "lab/x")
    log.submitted(t(0, 0, 2), "c-one", 1000, "lab/x").submitted(t(0, 30), "y", 1000, "lab/y")
    rows = log.book().account_hours(H0)
    assert rows["a", "lab/x"]["demand_gpu_ms"] == 2000 * 3600 + 1000 * 3598
    assert rows["a", "lab/x"]["owed_gpu_ms"] == 7_200_000  # what it may claim is less
    assert rows["a", "lab/y"]["demand_gpu_ms"] == 1000 * 1800
    # When the running one is done there is room for two and one, in that order.
    log.ended(t(0, 30), "r", "1")
    rows = log.book().account_hours(H0)
    assert rows["a", "lab/x"]["demand_gpu_ms"] == 2000 * 1800 + 1000 * 1798 + 3000 * 1800


def test_a_job_waits_only_where_it_could_start():
    # Two nodes with three GPUs each are asked for; the second healthy node comes at 00:40, n drains at 00:50.
    log = cluster().submitted(T0, "j", 6000, "lab/x", shape={"nodes": 2, "gpus_per_node_milli": 3000})
    log.node(T0, "m", 2000).node(T0, "o", 4000, "down").node(t(0, 40), "o", 3000)
    log.node(t(0, 50), "n", 4000, "draining")
    assert log.book().account_hours(H0)["a", "lab/x"]["demand_gpu_ms"] == 6000 * 600
    assert log.book().account_hours(H1)["a", "lab/x"]["demand_gpu_ms"] == 0


def test_a_job_that_names_no_type_waits_where_there_is_one_pool_only():
    # From 00:20 to 00:30 node m gives a second pool; at 00:30 it has no capacity left.
    log = cluster().submitted(T0, "j", 1000, "lab/x").node(t(0, 20), "m", 1000, "down", gpu_type="b")
    log.node(t(0, 30), "m", 0, gpu_type="b")
    assert log.book().account_hours(H0)["a", "lab/x"]["demand_gpu_ms"] == 1000 * 60 * 50


def test_there_is_no_tree_before_the_roots_first_set():
    log = Log().say("policy.set", t(-1), author="ann", opens_at=T0).node(T0, "n", 1000)
    log.shares(t(0, 10), "lab/x", {"p": 100}).observed(t(0, 20), "j", "1", started_at=t(0, 20), account="lab/x")
    log.shares(t(0, 30), "lab", {"x": 50})
    claims = {key[1]: row["claim_gpu_ms"] for key, row in log.book().account_hours(H0).items()}
    assert claims == {"lab/x": 0, "lab/x/p": 900_000, "lab/.": 900_000}  # lab/x has an unfunded run
    assert log.book().runs()["j", "1"]["funding_reason"] == "unknown_account"


def test_the_queue_opens_and_closes():
    # Eligible from 00:05, held 00:10-00:15, runs 00:20-00:30, preempted while resumable: waits again,
    # until the job is ended without an attempt at 00:50. Running 00:20-00:30 is demand too.
    log = cluster().submitted(T0, "j", 1000, "lab/x", resumable=True, eligible_from=t(0, 5))
    log.say("job.updated", t(0, 10), job="j", held=True).say("job.updated", t(0, 15), job="j", held=False)
    log.started(t(0, 20), "j", "1", n=1000).ended(t(0, 30), "j", "1", "preempted")
    book = log.ended(t(0, 50), "j", None, "cancelled").book()
    assert book.account_hours(H0)["a", "lab/x"]["demand_gpu_ms"] == 1000 * 60 * (5 + 5 + 10 + 20)
    assert book.account_hours(H0)["a", "lab/x"]["charged_gpu_ms"] == 1000 * 600
    assert book.runs()["j", "1"]["outcome"] == "preempted"


def test_the_wait_of_a_run_that_was_only_observed():
    # Eligible at 00:10, starts at 00:30 with one GPU on n and two on m; placeable while two nodes have two GPUs.
    placements = [{"node": "n", "gpus_milli": 1000}, {"node": "m", "gpus_milli": 1500}]
    placements.append({"node": "m", "gpus_milli": 500})
    log = cluster().node(t(0, 20), "m", 2000)
    log.observed(t(1), "j", "1", placements=placements, started_at=t(0, 30), ended_at=t(1), eligible_at=t(0, 10))
    assert log.book().account_hours(H0)["a", "lab/x"]["demand_gpu_ms"] == 3000 * 600 + 3000 * 1800


def test_a_job_end_without_attempt_ends_the_last_attempt():
    log = cluster().submitted(T0, "j", 1000, "lab/x").started(T0, "j", "1", n=1000)
    log.ended(t(0, 30), "j", None, "failed")
    assert (log.book().runs()["j", "1"]["ended_s"], log.book().runs()["j", "1"]["outcome"]) == (s(0, 30), "failed")
    # An attempt that starts later does not take it away; one that had started by then does.
    log.started(t(0, 40), "j", "2", n=1000)
    runs = log.book().runs()
    assert (runs["j", "1"]["ended_s"], runs["j", "2"]["ended_s"]) == (s(0, 30), None)
    log.started(t(0, 30), "j", "1b", n=1000)
    runs = log.book().runs()
    assert (runs["j", "1"]["ended_s"], runs["j", "1b"]["ended_s"]) == (None, s(0, 30))
    # An end of its own is stronger.
    log.ended(t(0, 35), "j", "1", "requeued")
    assert log.book().runs()["j", "1"]["ended_s"] == s(0, 35)


def test_still_running_never_touches_an_end_and_a_greater_end_replaces_it():
    log = cluster().ended(t(0, 40), "j", "1", "failed")
    assert log.book().runs() == {}
    log.observed(t(0, 50), "j", "1", started_at=T0)
    assert log.book().runs()["j", "1"]["ended_s"] == s(0, 40)
    log.observed(t(0, 45), "j", "1", started_at=t(0, 1), ended_at=t(0, 30), outcome="timeout")
    run = log.book().runs()["j", "1"]
    assert (run["started_s"], run["ended_s"], run["outcome"]) == (s(0, 1), s(0, 30), "timeout")


def test_a_start_counts_when_it_is_newer_than_the_full_statement():
    log = cluster().observed(t(0, 10), "j", "1", started_at=t(0, 5)).started(t(0, 7), "j", "1", n=2000)
    assert log.book().runs()["j", "1"]["started_s"] == s(0, 5)
    log.started(t(0, 12), "j", "1", n=2000).ended(t(0, 15), "j", "1")
    run = log.book().runs()["j", "1"]
    assert (run["started_s"], run["ended_s"], run["gpus_milli"]) == (s(0, 12), s(0, 15), 2000)


def test_a_start_after_the_end_is_a_second_one_and_counts_for_nothing():
    log = cluster().started(t(0, 10), "j", "1", n=1000).started(t(0, 40), "j", "1", n=2000)
    assert log.book().runs()["j", "1"]["started_s"] == s(0, 40)
    log.ended(t(0, 50), "j", "1").ended(t(0, 30), "j", "1", "preempted")
    run = log.book().runs()["j", "1"]
    assert (run["started_s"], run["ended_s"], run["outcome"]) == (s(0, 10), s(0, 30), "preempted")
    assert (run["gpus_milli"], run["flags"]) == (1000, frozenset())


def test_an_end_before_the_only_start_makes_the_run_nothing():
    log = cluster().observed(t(0, 10), "j", "1", started_at=t(0, 5)).started(t(0, 20), "j", "1", n=1000)
    run = log.ended(t(0, 3), "j", "1").book().runs()["j", "1"]
    assert (run["started_s"], run["ended_s"]) == (s(0, 20), s(0, 20))
    assert run["flags"] == {"end_before_start"}
    assert run["account"] == "lab/x"


def test_a_bare_total_of_suspension_is_placed_before_the_end():
    log = cluster().observed(t(1), "j", "1", started_at=t(0, 10), suspended_s=600)
    run = log.book().runs()["j", "1"]
    assert (run["contract_end_s"], run["flags"]) == (s(1, 20), {"suspension_placed"})
    assert log.book().account_hours(H0)["a", "lab/x"]["charged_gpu_ms"] == 1000 * 2400  # 00:50-01:00 paused
    log.ended(t(0, 40), "j", "1")
    assert log.book().account_hours(H0)["a", "lab/x"]["charged_gpu_ms"] == 1000 * 1200  # 00:30-00:40 paused
    assert log.book().node_hours(H0)["a", "n"]["suspended_gpu_ms"] == 1000 * 600


def test_pauses_of_a_full_statement_that_overlap_are_read_one_after_another():
    pauses = [
        {"since": t(0, 10), "until": t(0, 30), "releases_gpus": True},
        {"since": t(0, 20), "until": t(0, 40)},
        {"since": t(0, 50)},
    ]
    log = cluster().observed(t(0, 55), "j", "1", started_at=T0, suspensions=pauses)
    log.say("job.resumed", t(0, 56), job="j", attempt="1")
    sums = log.book().node_hours(H0)["a", "n"]
    assert sums["suspended_gpu_ms"] == 1000 * 60 * (10 + 6)
    assert sums["protected_gpu_ms"] == 1000 * 60 * (10 + 10 + 4)


@pytest.mark.parametrize(
    ("terms", "reason", "booked"),
    [
        ({"account": None}, "no_account", ""),
        ({"account": "ghost", "min_runtime_s": 0}, "no_min_runtime", "ghost"),
        ({"account": "ghost", "min_runtime_s": 7201}, "min_runtime_over_maximum", "ghost"),
        ({"account": "lab/x", "min_runtime_s": 7200}, "", "lab/x"),
        ({"account": "ghost"}, "unknown_account", "ghost"),
        ({"account": "lab/z"}, "zero_share", "lab/z"),
        ({"account": "lab"}, "", "lab/."),
        ({"account": "lab/."}, "", "lab/."),
        ({"account": "granted"}, "", "granted"),
    ],
)
def test_why_a_run_is_unfunded(terms: dict[str, Any], reason: str, booked: str):
    log = cluster().say("policy.set", t(0, 1), author="ann", max_min_runtime_s=7200)
    log.shares(t(0, 1), "lab", {"x": 50, "y": 25, "z": 0}, expected_revision=1)
    grant = {"account": "granted", "gpu_type": "a", "amount_gpu_ms": 1, "since": T0, "until": t(1)}
    log.say("grant.made", t(0, 1), author="ann", **grant)
    run = log.observed(t(0, 10), "j", "1", started_at=t(0, 10), **terms).book().runs()["j", "1"]
    assert (run["funding_reason"], run["booked_account"]) == (reason, booked)


def test_a_reassigned_run_belongs_to_the_other_account_from_its_start():
    log = cluster().observed(t(0, 30), "j", "1", started_at=T0, account=None)
    log.say("run.reassigned", t(1), author="ann", job="j", attempt="1", account="lab/y")
    assert log.book().account_hours(H0)["a", "lab/y"]["charged_gpu_ms"] == 3_600_000


def test_the_terms_are_those_at_the_start():
    log = cluster().submitted(t(0, 5), "j", 1000, "lab/y").started(T0, "j", "0", n=1000)
    log.say("job.updated", t(0, 20), job="j", account="lab/x").started(t(0, 19), "j", "1", n=1000)
    log.say("job.updated", t(0, 2), job="j", account="lab").started(t(0, 20), "j", "2", n=1000)
    runs = log.book().runs()
    assert [runs["j", n]["account"] for n in ("0", "1", "2")] == ["lab/y", "lab/y", "lab/x"]


def test_a_grant_accrues_evenly_in_whole_amounts():
    # 100 over 3 h from 00:30: floor(100 × 1800/10800) = 16, then floor(50) − 16 = 34, then 83 − 50, 100 − 83.
    # The root is interior, so its own part receives it.
    grant = {"account": "lab", "gpu_type": "a", "amount_gpu_ms": 100, "since": t(0, 30), "until": t(3, 30)}
    book = cluster().say("grant.made", t(2), author="ann", **grant).book()
    assert [book.account_hours(H0 + 3600 * n)["a", "lab/."]["grant_gpu_ms"] for n in range(5)] == [16, 34, 33, 17, 0]
    assert book.postings(H0)["a", "budget", "", "pool", "grant", "", "e3"] == -16


def test_the_book_opens_closes_and_keeps():
    log = Log().node(t(0, 59), "n", 1000).say("clock.ticked", t(2, 4, 59), at=t(2, 4, 59))
    assert (log.book().opens_s(), log.book().closed_until_s(), log.book().first_kept_s()) == (H0, H1, H0)
    log.say("clock.ticked", t(2, 5), at=t(2, 5))
    assert log.book().closed_hours() == [H0, H1]
    assert log.book().postings(H0 - 3600) == {}
    # A shorter horizon moves the first kept hour at the next tick, and a longer one does not move it back.
    log.say("policy.set", t(2, 6), author="ann", horizon_h=24)
    log.say("clock.ticked", t(30, 5), at=t(30, 5)).say("policy.set", t(30, 6), author="ann", horizon_h=100)
    log.say("clock.ticked", t(30, 7), at=t(30, 7))
    assert log.book().first_kept_s() == H0 + 6 * 3600
    # An opening that is set beats the first node, also for a run that started before it.
    log.shares(T0, "lab", {"x": 50}).observed(t(0, 30), "j", "1", started_at=t(0, 30), min_runtime_s=60)
    log.say("policy.set", T0, author="ann", opens_at=t(1, 15))
    assert log.book().opens_s() == H1
    assert log.book().account_hours(H0) == {}
    assert log.book().account_hours(H1)["a", "lab/x"]["charged_gpu_ms"] == 3_600_000


# ---------------------------------------------------------------------- the logs, and the oracle on them


def final(book: Naive) -> dict[int, Any]:
    return {h: (book.postings(h), book.account_hours(h), book.cluster_hours(h)) for h in book.closed_hours()}


def is_log(log: list[Event]) -> bool:
    """Recorded in order, nothing from the future, and the last tick is last."""
    times = [recorded(one) for one in log]
    ticked = log[-1].type == "tenure.clock.ticked.v1"
    return ticked and times == sorted(times) and all(one.time <= recorded(one) + HOUR for one in log)


@settings(max_examples=15)
@given(logs(), st.data())
def test_order_and_repeats_of_observations_do_not_matter(log: list[Event], data: st.DataObject):
    moved = shuffled(log, data.draw)
    again = with_repeats(moved, data.draw)
    assert is_log(log)
    assert is_log(moved)
    assert is_log(again)
    assert [one.id for one in moved if not is_observation(one)] == [one.id for one in log if not is_observation(one)]
    assert final(Naive(accepted(again))) == final(Naive(accepted(log)))
    assert Naive(accepted(again)).runs() == Naive(accepted(log)).runs()


@settings(max_examples=10)
@given(logs())
def test_every_transaction_sums_to_zero_and_claims_fit_the_capacity(log: list[Event]):
    book = Naive(accepted(log))
    for hour in book.closed_hours():
        sums: dict[tuple[str, str, str], int] = {}
        for (pool, kept_in, _, _, kind, node, run), amount in book.postings(hour).items():
            part = node if kept_in == "capacity" else f"{kind} {run}"
            sums[pool, kept_in, part] = sums.get((pool, kept_in, part), 0) + amount
        assert not any(sums.values())
        for row in book.cluster_hours(hour).values():
            assert row["claimed_gpu_ms"] <= row["capacity_gpu_ms"]


@pytest.mark.parametrize("seed", [1, 2])
def test_second_by_second_gives_the_same(seed: int):
    log = accepted(seeded_log(seed, hours=6, nodes=2, jobs=4))
    book, slow = Naive(log), Naive(log, every_second=True)
    hour = book.closed_hours()[3]
    assert slow.postings(hour) == book.postings(hour)
    assert slow.account_hours(hour) == book.account_hours(hour)


def test_a_seed_gives_one_log():
    assert seeded_log(7) == seeded_log(7)
    assert is_log(seeded_log(7))
    assert len(seeded_log(7)) > 300
