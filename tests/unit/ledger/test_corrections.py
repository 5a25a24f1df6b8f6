"""What is said late of closed hours: only the difference is posted, under the event as its cause."""

from typing import Any

import pytest

from ledger import observed_nodes
from ledger.corrections import changed_span
from ledger.outcomes import Applied, Repeated
from ledger.queue import Wait
from ledger.rows import AccountHour, ClusterHour, Correction, NodeHour, Posting
from ledger.runs import derive
from ledger.state import NOTHING, Derived
from ledger.statements import Terms, cause_of
from ledger.units import FOREVER_S
from tests.support.folded import Folded, folded
from tests.support.said import (
    checkpointed,
    ended,
    grant,
    node,
    opens,
    policy,
    reassigned,
    resumed,
    run,
    s,
    say,
    shares,
    small_cluster,
    started,
    submitted,
    suspended,
    t,
    tick,
    updated,
)
from tests.support.world import World, job

# ---------------------------------------------------------------------- how far a change of one job reaches


def reading(**told: Any) -> Derived:
    return Derived(derive(job(**told), World()), (), ())


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        ({"starts": {"1": 50}}, {"starts": {"1": 50}}, (0, 0)),
        ({"starts": {}}, {"starts": {"1": 50}, "ends": {"1": 90}}, (49, 90)),
        ({"starts": {"1": 50}, "ends": {"1": 90}}, {"starts": {}}, (49, 90)),
        ({"starts": {"1": 50}}, {"starts": {"1": 50}, "ends": {"1": 300}}, (299, FOREVER_S)),
        ({"starts": {"1": 50}, "ends": {"1": 90}}, {"starts": {"1": 50}, "ends": {"1": 300}}, (89, 300)),
        ({"starts": {"1": 50}, "ends": {"1": 90}}, {"starts": {"1": 70}, "ends": {"1": 90}}, (49, 90)),
        # the pause begins at 200, and nothing before it reads otherwise
        (
            {"starts": {"1": 50}, "ends": {"1": 300}},
            {"starts": {"1": 50}, "ends": {"1": 300}, "toggles": ((200, True, False), (220, False, False))},
            (199, 300),
        ),
        # a released pause leaves no piece behind, but moves those after it
        (
            {"starts": {"1": 50}, "ends": {"1": 300}, "toggles": ((200, True, False), (220, False, False))},
            {"starts": {"1": 50}, "ends": {"1": 300}, "toggles": ((200, True, True), (220, False, False))},
            (199, 300),
        ),
        # a refund reaches back to the start
        (
            {"starts": {"1": 50}, "ends": {"1": 300}},
            {"starts": {"1": 50}, "ends": {"1": 300}, "outcome": "node_failure"},
            (49, 300),
        ),
        # another account: all of it
        (
            {"starts": {"1": 50}, "ends": {"1": 300}},
            {"starts": {"1": 50}, "ends": {"1": 300}, "terms": Terms()},
            (49, 300),
        ),
        # more GPUs: all of it
        (
            {"starts": {"1": 50}, "ends": {"1": 300}},
            {"starts": {"1": 50}, "ends": {"1": 300}, "on": (("n", 2),)},
            (49, 300),
        ),
    ],
)
def test_how_far_a_change_reaches(old: dict[str, Any], new: dict[str, Any], span: tuple[int, int]):
    assert changed_span(reading(**old), reading(**new)) == span


def waiting(*spans: tuple[int, int], milli: int = 1000) -> Derived:
    return Derived((), tuple(Wait(a, b, Terms(gpus_milli=milli), 0) for a, b in spans), ())


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        (NOTHING, waiting((10, 50)), (9, 50)),
        (waiting((10, FOREVER_S)), waiting((10, 50)), (49, FOREVER_S)),  # only its end moved
        (waiting((10, 50)), waiting((10, 50), (70, 90)), (69, 90)),
        (waiting((10, 50)), waiting((10, 50), milli=2), (9, 50)),
        (waiting((10, 50), (70, 90)), waiting((20, 50), (70, 90)), (9, 50)),
        (waiting((10, 50), (70, 90)), waiting((20, 50), (70, 95)), (9, 95)),
    ],
)
def test_how_far_a_change_of_waits_reaches(old: Derived, new: Derived, span: tuple[int, int]):
    assert changed_span(old, new) == span


# ---------------------------------------------------------------------- one event, its postings


def cluster(*log: Any) -> Folded:
    """Four GPUs on n, hours 08 to 10 closed at 11:05."""
    return folded([*small_cluster(), *log, tick("11:05")])


def corrected(book: Folded, event: Any) -> dict[str, dict[tuple[str, ...], int]]:
    """Postings of the event by hour, told as (account, class, kind, node, run)."""
    assert book.fold(event) == Applied()
    cause = cause_of(event.source, event.id, book.book.state.seq)
    found: dict[str, dict[tuple[str, ...], int]] = {}
    for row in book.tables[Posting].values():
        if row.cause == cause:
            hour = found.setdefault(f"{(row.hour_s - s('00:00')) // 3600:02}:00", {})
            hour[row.account, row.class_, row.kind, row.node, row.run] = row.amount_gpu_ms
    book.check()
    return found


def test_a_late_end_posts_only_the_hours_behind_it():
    book = cluster(submitted("08:00"), started("08:00"))
    assert corrected(book, ended("10:45", recorded="11:10")) == {
        "10:00": {
            ("lab/a", "interruptible", "occupied", "n", "j/1"): -1000 * 900,
            ("", "", "idle", "n", ""): 1000 * 900,
            ("lab/a", "budget", "charge", "", "j/1"): 1000 * 900,
            ("lab/a", "spent", "charge", "", "j/1"): -1000 * 900,
        }
    }
    (row,) = book.tables[Correction].values()
    assert (row.since_s, row.until_s, row.type) == (s("10:00"), s("11:00"), "tenure.job.ended.v1")
    assert row.moved_gpu_ms == 2 * 1000 * 900


def test_a_correction_tells_the_hours_it_reaches_over():
    book = cluster(submitted("08:00"), started("08:00"))
    assert set(corrected(book, ended("08:45", recorded="11:10"))) == {"08:00", "09:00", "10:00"}
    (row,) = book.tables[Correction].values()
    assert (row.since_s, row.until_s) == (s("08:00"), s("11:00"))
    assert row.moved_gpu_ms == 2 * 1000 * (900 + 3600 + 3600)


def test_an_end_on_the_hour_changes_the_commitment_of_the_hour_before():
    book = cluster(submitted("08:00", min_runtime_s=7200), started("08:30"))
    before = book.latest(AccountHour, "hour_s", "account")[s("09:00"), "lab/a"]
    assert before.commitment_gpu_ms == 1000 * 1800
    found = corrected(book, ended("10:00", recorded="11:10"))
    assert set(found) == {"10:00"}  # no posting of 09:00
    after = book.latest(AccountHour, "hour_s", "account")[s("09:00"), "lab/a"]
    assert (after.commitment_gpu_ms, after.charged_gpu_ms) == (0, before.charged_gpu_ms)


def test_a_repeat_posts_nothing():
    book = cluster(submitted("08:00"), started("08:00"))
    book.fold(ended("10:45", recorded="11:10"))
    seq, rows = book.book.state.seq, len(book.tables[Posting])
    assert book.fold(ended("10:45", recorded="11:20")) == Repeated()
    assert (book.book.state.seq, len(book.tables[Posting])) == (seq, rows)


@pytest.mark.parametrize(
    "event",
    [
        checkpointed("09:00", recorded="11:10"),
        say("gpu.idle_observed", "09:00", job="j", attempt="1", since=t("08:30"), recorded="11:10"),
        updated("11:09", priority=3),
        node("11:09", gpus=8),
        node("09:00", gpus=4, reason="seen again", recorded="11:10"),
        resumed("09:00", recorded="11:10"),
        run("11:09", start="08:00"),
        policy("11:09", window_h=24),
        grant("11:09", "lab/b", 100, "12:00", "13:00"),
    ],
    ids=lambda event: event.type,
)
def test_what_changes_no_closed_hour_posts_nothing(event: Any):
    book = cluster(submitted("08:00"), started("08:00"))
    assert corrected(book, event) == {}
    assert not book.tables[Correction]


def test_a_late_start_of_another_run_makes_the_node_overbooked():
    book = cluster(submitted("08:00", gpus=3), started("08:00", on={"n": 3}))
    book.fold(submitted("10:00", "k", gpus=2, account=None, recorded="11:10"))
    assert corrected(book, started("10:30", "k", on={"n": 2}, recorded="11:11")) == {
        "10:00": {
            ("", "unfunded", "occupied", "n", "k/1"): 2000 * 1800,
            ("", "", "idle", "n", ""): -1000 * 1800,
            ("", "", "overbooked", "n", ""): -1000 * 1800,
        }
    }


def test_a_late_pause_is_taken_out_of_the_charge():
    book = cluster(submitted("08:00"), started("08:00"))
    found = corrected(book, suspended("10:30", recorded="11:10"))
    assert found["10:00"]["lab/a", "spent", "charge", "", "j/1"] == -1000 * 1800
    assert found["10:00"]["lab/a", "suspended", "occupied", "n", "j/1"] == 1000 * 1800
    found = corrected(book, resumed("10:45", recorded="11:11"))
    assert found["10:00"]["lab/a", "spent", "charge", "", "j/1"] == 1000 * 900


def test_a_node_said_to_have_been_down_shrinks_the_claims():
    book = cluster()
    assert corrected(book, node("10:30", state="down", recorded="11:10")) == {
        "10:00": {
            ("", "", "idle", "n", ""): -4000 * 1800,
            ("", "unplanned", "unavailable", "n", ""): 4000 * 1800,
            ("", "pool", "claim", "", ""): 7_200_000,
            ("lab/a", "budget", "claim", "", ""): -7_200_000 * 60 // 100,
            ("lab/b", "budget", "claim", "", ""): -7_200_000 * 25 // 100,
            ("lab/.", "budget", "claim", "", ""): -7_200_000 * 15 // 100,
        }
    }


def test_a_node_statement_is_in_force_until_the_next_one():
    book = cluster(node("09:30", gpus=2))
    found = corrected(book, node("08:30", gpus=6, recorded="11:10"))
    assert {hour: legs["", "", "capacity", "n", ""] for hour, legs in found.items()} == {
        "08:00": -2000 * 1800,
        "09:00": -2000 * 1800,
    }


def test_a_job_waits_where_a_node_was_down_after_all():
    book = cluster(submitted("08:00", gpus=4))
    book.fold(node("09:00", state="down", recorded="11:10"))
    rows = book.latest(AccountHour, "hour_s", "account")
    assert [rows[s(h), "lab/a"].demand_gpu_ms for h in ("08:00", "09:00", "10:00")] == [14_400_000, 0, 0]
    book.check()


def test_a_node_seen_as_it_was_known_to_be_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    book = cluster(node("09:30", gpus=2), node("10:30", state="down"))
    monkeypatch.setattr(observed_nodes, "_turned", None)
    for seen in (node("08:30", recorded="11:10"), node("09:45", gpus=2, recorded="11:10"), node("10:45", state="down")):
        assert corrected(book, seen) == {}
    assert book.tables[Correction] == {}


def test_a_node_gone_that_nobody_stated_moves_nothing():
    book = cluster(submitted("08:00"), run("10:00", "k", start="08:00", end="09:30", on={"m": 1}))
    assert corrected(book, say("node.removed", "08:30", node="m", recorded="11:10")) == {}


def test_a_new_node_in_closed_hours():
    book = cluster()
    found = corrected(book, node("10:30", "m", 2, recorded="11:10"))
    assert found["10:00"]["", "", "capacity", "m", ""] == -2000 * 1800
    assert found["10:00"]["lab/a", "budget", "claim", "", ""] == 2_160_000


def test_a_node_of_another_type_moves_what_ran_on_it():
    book = cluster(submitted("08:00"), started("08:00"))
    event = node("10:30", gpu_type="b200", recorded="11:10")
    book.fold(event)
    book.check()
    rows = {(row.pool, row.hour_s): row for row in book.latest(NodeHour, "pool", "hour_s").values()}
    assert rows["h100", s("10:00")].capacity_gpu_ms == rows["b200", s("10:00")].capacity_gpu_ms == 4000 * 1800
    assert rows["b200", s("10:00")].interruptible_gpu_ms == 1000 * 1800
    clusters = book.latest(ClusterHour, "hour_s", "pool")
    assert clusters[s("10:00"), "h100"].claimed_gpu_ms + clusters[s("10:00"), "b200"].claimed_gpu_ms == 14_400_000


def test_a_pool_a_node_never_had_reads_zero():
    book = cluster()
    book.fold(node("08:00", gpu_type="b200", recorded="11:10", id="zz-greater"))
    book.check()
    assert book.tables[NodeHour]["h100", "n", s("08:00")].capacity_gpu_ms == 0
    assert book.tables[NodeHour]["b200", "n", s("08:00")].capacity_gpu_ms == 14_400_000


def test_shares_back_dated_post_the_difference_of_claims():
    book = cluster()
    event = shares("11:10", "lab", {"a": 50, "b": 25}, 1, effective_at=t("10:30"), backdated=True, reason="agreed")
    assert corrected(book, event) == {
        "10:00": {  # what the pool gives stays the same
            ("lab/a", "budget", "claim", "", ""): -720_000,
            ("lab/.", "budget", "claim", "", ""): 720_000,
        }
    }
    rows = book.latest(AccountHour, "hour_s", "account")
    assert rows[s("10:00"), "lab/a"].claim_gpu_ms == 8_640_000 - 720_000


def test_a_grant_into_closed_hours():
    book = cluster()
    event = grant("11:10", "lab/b", 3_600_000, "10:30", "11:30")
    assert corrected(book, event) == {
        "10:00": {
            ("", "pool", "grant", "", event.id): -1_800_000,
            ("lab/b", "budget", "grant", "", event.id): 1_800_000,
        }
    }


def test_a_grant_moves_to_the_own_part_of_an_account_that_gets_children():
    book = cluster(grant("08:00", "lab/b", 3_600_000, "08:00", "11:00"))
    event = shares("11:10", "lab/b", {"x": 50}, effective_at=t("10:00"), backdated=True, reason="agreed")
    found = corrected(book, event)["10:00"]
    (grant_id,) = {run for _, _, kind, _, run in found if kind == "grant"}
    assert found["lab/b", "budget", "grant", "", grant_id] == -1_200_000
    assert found["lab/b/.", "budget", "grant", "", grant_id] == 1_200_000


def test_a_run_that_becomes_funded_moves_its_time():
    book = cluster(submitted("10:00", account="lab/c"), started("10:30"))
    event = shares("11:10", "lab", {"a": 60, "c": 25}, 1, effective_at=t("10:00"), backdated=True, reason="agreed")
    found = corrected(book, event)["10:00"]
    assert found["lab/c", "unfunded", "occupied", "n", "j/1"] == -1000 * 1800
    assert found["lab/c", "protected", "occupied", "n", "j/1"] == 1000 * 1800
    assert found["lab/c", "spent", "charge", "", "j/1"] == 1000 * 1800


def test_a_reassigned_run_moves_from_one_account_to_the_other():
    book = cluster(submitted("10:00"), started("10:30"))
    found = corrected(book, reassigned("11:10", "lab/b"))["10:00"]
    assert found["lab/a", "spent", "charge", "", "j/1"] == -1000 * 1800
    assert found["lab/b", "spent", "charge", "", "j/1"] == 1000 * 1800


def test_with_a_slot_limit_one_job_takes_the_room_of_another():
    log = [opens("08:00"), node("08:00"), shares("08:00", "lab", {"a": (60, 2)}), submitted("08:30", "k", gpus=2)]
    book = folded([*log, tick("09:05")])
    assert book.latest(AccountHour, "hour_s", "account")[s("08:00"), "lab/a"].demand_gpu_ms == 2000 * 1800
    book.fold(submitted("08:00", "j", gpus=1, recorded="09:10"))  # it was first: now k has no room
    assert book.latest(AccountHour, "hour_s", "account")[s("08:00"), "lab/a"].demand_gpu_ms == 1000 * 3600
    book.check()


def test_each_account_has_one_version_a_cause():
    book = cluster(submitted("08:00"), started("08:00"))
    book.fold(ended("08:30", recorded="11:10"))
    versions = [row for row in book.tables[AccountHour].values() if (row.hour_s, row.account) == (s("08:00"), "lab/a")]
    assert [row.charged_gpu_ms for row in versions] == [3_600_000, 1_800_000]


def test_a_start_hands_the_jobs_end_to_another_attempt():
    # Two ends were told of the job. The attempt that starts between them takes the later one.
    book = cluster(submitted("08:00"), started("08:00"), ended("10:30", attempt=None))
    book.fold(ended("11:30", attempt=None, outcome="failed", recorded="11:40"))
    book.check()
    assert book.fold(started("11:20", attempt="2", recorded="11:41")) == Applied()
    book.check()


def test_the_terms_of_a_wait_between_observed_runs_follow_the_next():
    book = cluster(run("09:00", start="08:00", end="09:00", outcome="requeued"))
    rows = book.latest(AccountHour, "hour_s", "account")
    assert rows[s("10:00"), "lab/a"].demand_gpu_ms == 3_600_000
    book.fold(run("11:30", attempt="2", start="11:20", on={"n": 3}))
    rows = book.latest(AccountHour, "hour_s", "account")
    assert rows[s("10:00"), "lab/a"].demand_gpu_ms == 3 * 3_600_000
    book.check()
