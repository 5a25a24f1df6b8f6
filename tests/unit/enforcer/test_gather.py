"""A snapshot of a book in which plans are carried out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from enforcer.backoff import not_before_s
from enforcer.gates import Refusal
from enforcer.gather import snapshots
from enforcer.plan import Plan, plan_for
from enforcer.rules import Rules, rules_of
from enforcer.snapshot import Snapshot
from ledger.facts import decode, encode
from ledger.policy import Policy
from tests.support.folded import Folded, folded
from tests.support.said import (
    committed,
    ended,
    expired,
    held,
    issued,
    node,
    opens,
    s,
    say,
    settled,
    shares,
    started,
    submitted,
    tick,
)

SHAPE = {"nodes": 1, "gpus_per_node_milli": 4000}
ASK = submitted("09:00", "ask", account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=3600)
BUSY: list[Any] = [
    opens("08:00"),
    node("08:00", "n", 4),
    node("08:00", "m", 4),
    shares("08:00", "lab", {"a": 50, "b": 50}),
    submitted("08:00", "j", account="lab/b", gpus=4, min_runtime_s=0),
    submitted("08:00", "k", account="lab/b", gpus=4, min_runtime_s=0),
    started("08:00", "j", on={"n": 4}),
    started("08:00", "k", on={"m": 4}),
    ASK,
    tick("09:02"),
]
PLAN = committed("09:02", "j/1")


def seen(*log: Any) -> Snapshot:
    return snapshots(book(*log).book.state)["h100"]


def book(*log: Any) -> Folded:
    told = folded([*BUSY, *log])
    assert not told.refused
    return told


def by_name(snapshot: Snapshot, name: str) -> Any:
    return next(it for it in snapshot.nodes if it.name == name)


def refusal(snapshot: Snapshot) -> str:
    found = plan_for(snapshot.askers[0], snapshot, Rules())
    return found.name if isinstance(found, Refusal) else ""


def test_before_any_plan_somebody_would_have_to_yield():
    snapshot = seen()
    found = plan_for(snapshot.askers[0], snapshot, Rules())
    assert isinstance(found, Plan)
    assert len(found.victims) == 1


def test_what_a_plan_orders_off_is_being_freed_and_promised_to_its_asker():
    before, after = seen(), seen(PLAN)
    n = by_name(after, "n")
    assert (n.free_milli, n.freeing_milli, n.promised_milli, n.spare_milli) == (0, 4000, 4000, 0)
    assert [unit.name for unit in after.units] == ["k/1"]
    assert after.askers[0].planned
    assert refusal(after) == "planned"
    assert after.running_milli["lab/a"] == before.running_milli.get("lab/a", 0) + 4000
    assert after.ratio("lab/a").committed_gpu_ms == 4000 * 3600


def test_a_plan_that_only_observes_touches_nothing_but_its_asker():
    before, after = seen(), seen(committed("09:02", "j/1", mode="observe"))
    assert (after.nodes, after.units, after.ratios) == (before.nodes, before.units, before.ratios)
    assert after.running_milli == before.running_milli
    assert refusal(after) == "planned"
    over = seen(committed("09:02", "j/1", mode="observe"), expired("09:02", "observed"))
    assert refusal(over) == ""


def test_what_has_left_is_held_for_the_asker():
    n = by_name(seen(PLAN, issued("09:02", "j/1"), ended("09:03", "j"), held("09:03", "09:08"), tick("09:04")), "n")
    assert (n.free_milli, n.freeing_milli, n.promised_milli, n.spare_milli) == (4000, 0, 4000, 0)


def test_a_run_that_does_not_leave_frees_nothing():
    n = by_name(seen(PLAN, issued("09:02", "j/1"), settled("09:03", "j/1", "refused")), "n")
    assert (n.freeing_milli, n.spare_milli) == (0, 0)


def test_once_the_asker_runs_its_room_is_its_own():
    log = [PLAN, issued("09:02", "j/1"), ended("09:03", "j"), started("09:03:30", "ask", on={"n": 4}), tick("09:04")]
    n = by_name(seen(*log), "n")
    assert (n.free_milli, n.promised_milli) == (0, 0)


@pytest.mark.parametrize(("failures", "waits_min"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (12, 60)])
def test_after_failed_plans_an_asker_waits_longer_and_longer(failures: int, waits_min: int):
    log = []
    for n in range(failures):
        name = f"h100/{n}/ask"
        log += [committed(f"09:{2 + n:02}", plan=name, seq=1 << 40), expired(f"09:{2 + n:02}:30", "taken", plan=name)]
    state = book(*log).book.state
    assert not_before_s(state, "ask") == s(f"09:{1 + failures:02}:30") + waits_min * 60


@pytest.mark.parametrize("why", ["asker_started", "asker_gone", "fits", "stopped", "observed"])
def test_a_plan_that_did_not_fail_holds_nobody_back(why: str):
    assert not_before_s(book(PLAN, expired("09:02:30", why)).book.state, "ask") == 0


def test_two_hours_of_running_make_good_what_was_before():
    log = [PLAN, expired("09:02:30", "taken"), ended("09:03", "j"), started("09:04", "ask", on={"n": 4})]
    state = book(*log, tick("11:03:59")).book.state
    assert not_before_s(state, "ask") == s("09:03:30")
    state = book(*log, tick("11:04")).book.state
    assert not_before_s(state, "ask") == 0


def test_unfunded_runs_that_were_preempted_are_held_back():
    first = [PLAN, issued("09:02", "j/1"), ended("09:03", "j", outcome="requeued"), tick("09:10")]
    assert not_before_s(book(*first).book.state, "j") == s("09:04")
    again = [started("09:11", "j", attempt="2", on={"n": 4}), ended("09:20", "j", attempt="2", outcome="preempted")]
    assert not_before_s(book(*first, *again, tick("09:21")).book.state, "j") == s("09:22")
    assert not_before_s(book(*first, *again, tick("09:21")).book.state, "k") == 0


def test_a_preemption_after_two_hours_of_running_is_the_first_again():
    first = [PLAN, issued("09:02", "j/1"), ended("09:03", "j", outcome="requeued")]
    long = [started("09:04", "j", attempt="2", on={"n": 4}), ended("11:04", "j", attempt="2", outcome="preempted")]
    assert not_before_s(book(*first, *long, tick("11:04")).book.state, "j") == s("11:05")


def test_rules_are_made_of_the_policy():
    policy = Policy(preemption_delay_s=1, debug_delay_s=2, max_min_runtime_s=3, grace_s=4, hold_s=5)
    rules = rules_of(policy)
    assert (rules.delay_s, rules.debug_delay_s, rules.max_min_runtime_s) == (1, 2, 3)
    assert (rules.grace_s, rules.hold_s) == (4, 5)
    assert rules_of(Policy()) == Rules()


def test_a_gang_reads_alike_after_a_restart():
    """`one` was held while hours closed, so it came back to the live jobs behind `two`."""
    terms: dict[str, Any] = {"gpus": 4, "min_runtime_s": 60, "gang": "g"}
    log = [
        opens("08:00"),
        node("08:00", "n", 4),
        node("08:00", "m", 4),
        shares("08:00", "lab", {"a": 50, "b": 50}),
        submitted("08:00", "one", account="lab/a", held=True, **terms),
        tick("09:05"),
        tick("10:05"),
        submitted("10:06", "two", account="lab/b", **terms),
        say("job.updated", "10:07", job="one", held=False),
        started("10:08", "one", on={"n": 4}),
        started("10:08", "two", on={"m": 4}),
        tick("10:30"),
    ]
    state = folded(log).book.state
    (kept,) = snapshots(state)["h100"].units
    (read,) = snapshots(decode(encode(state)))["h100"].units
    assert kept == read


def test_the_debug_lane_is_as_wide_as_the_policy_says():
    """R3 opens banked work of another account to a debug run, while its account has at most 16 GPUs in the lane."""
    small: dict[str, Any] = {"account": "lab/a", "gpus": 4, "shape": SHAPE, "min_runtime_s": 600}
    log = [
        opens("08:00", debug_lane=True, rebalance=False),
        node("08:00", "n", 4),
        shares("08:00", "lab", {"a": 50, "b": 50}),
        submitted("08:00", "j", account="lab/b", gpus=4, min_runtime_s=60, resumable=True),
        started("08:00", "j", on={"n": 4}),
        submitted("08:10", "ask", **small),
        tick("08:15"),
    ]
    state = folded(log).book.state
    (snapshot,) = snapshots(state).values()
    rules = rules_of(state.policy_at(state.ticked_s))
    assert (rules.debug_lane, rules.rebalance, rules.priority_inside_leaf) == (True, False, False)
    full = replace(snapshot, debug_milli={"lab/a": 13_000})
    units = tuple(replace(unit, lost_gpu_ms=0) for unit in snapshot.units)
    for there, opens_ in ((snapshot, True), (full, False)):
        found = plan_for(there.askers[0], replace(there, units=units), rules)
        assert isinstance(found, Plan) == opens_
