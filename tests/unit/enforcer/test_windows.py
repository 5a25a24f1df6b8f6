"""Maintenance windows: what is near, what is emptied, and that the timers miss nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer import windows
from enforcer.gates import Refusal
from enforcer.gather import snapshot_of
from enforcer.plan import Plan, plan_for
from enforcer.rules import Rules, rules_of
from ledger.events import PlanCommitted
from ledger.facts import decode, encode
from ledger.policy import PolicyChange
from ledger.state import State
from ledger.windows import Window
from tests.support.said import ended, maintenance, policy, s, started, t, tick
from tests.unit.enforcer.test_protocol import ASK, ASKED, BUSY, SHARED, Desk

WINDOW = maintenance("08:45", "w", ["n"], "09:40", "11:00")
EMPTIED = "09:33"
"""A grace of two minutes and five more before."""


def test_a_node_is_emptied_before_its_window_and_contracts_are_kept():
    desk = Desk(*SHARED, WINDOW, tick("09:32:59"))
    assert desk.look("09:32:59") == []
    desk.tell(tick(EMPTIED))
    (due,) = desk.due(EMPTIED).acts
    assert isinstance(due, PlanCommitted)
    assert due.data.due == t(EMPTIED)
    assert desk.look(EMPTIED) == ["committed j", "issued j requeue"]
    (plan,) = desk.state.acts.plans.values()
    assert plan.told[0][0].startswith("n is in maintenance from 2026-03-02 09:40 to 2026-03-02 11:00 UTC (w): ")
    desk.tell(ended("09:33:10", "j", outcome="requeued"), tick("09:59:59"))
    assert desk.look("09:59:59") == ["settled j preempted", "expired drained 0"]
    desk.tell(tick("10:00"))
    assert desk.look("10:00") == ["committed p", "issued p requeue"]


def test_what_runs_there_once_it_is_over_stays():
    log = [*BUSY[:4], WINDOW, BUSY[4], tick("10:59:59"), started("10:59:59", "j", on={"n": 2})]
    assert Desk(*log, tick("11:00")).look("11:00") == []
    within = [*BUSY[:4], WINDOW, BUSY[4], started("10:59:50", "j", on={"n": 2}), tick("10:59:59")]
    assert Desk(*within).look("10:59:59") == ["committed j", "issued j requeue"]


def test_a_cancelled_window_empties_nothing():
    taken_back = maintenance("09:00", "w", ["n"], "09:40", "11:00", cancelled=True)
    assert Desk(*SHARED, WINDOW, taken_back, tick("09:35")).look("09:35") == []


def test_only_observed_it_is_told_once():
    desk = Desk(*SHARED, WINDOW, policy("08:50", enforcement="observe"), tick("09:35"))
    assert desk.look("09:35") == ["committed j"]
    desk.tell(tick("09:45"))
    assert desk.look("09:45") == []


def test_paused_nobody_is_ordered_off():
    desk = Desk(*SHARED, WINDOW, policy("08:50", enforcement="paused"), tick("09:35"))
    assert (desk.look("09:35"), desk.due("09:35").next_s) == ([], None)


@pytest.mark.parametrize(
    ("told", "next_"),
    [("day 0 20:00", "day 1 01:40"), ("09:00", EMPTIED), ("09:32:59", EMPTIED), ("09:33", "11:00"), ("10:59", "11:00")],
)
def test_it_is_looked_again_when_a_window_begins_to_matter(told: str, next_: str):
    """8 h before, before the last grace, at its end; of the facts alone, so that a restart has the same timers."""
    desk = Desk(*BUSY[:4], WINDOW)
    desk.state.ticked_s = s(told)
    assert desk.due(told).next_s == s(next_)
    again = decode(encode(desk.state))
    assert min(windows.turns_s(again)) == s(next_)


def test_a_look_after_a_turn_asks_for_a_tick_first():
    desk = Desk(*SHARED, WINDOW, tick("09:00"))
    found = desk.due("09:34")
    assert (found.acts, found.next_s) == ([], s("09:34"))


def test_room_is_made_where_no_maintenance_is_near():
    """Both nodes would do, and k loses less; but m is to be taken away."""
    assert Desk(*ASKED).look("09:02")[0] == "committed k"
    near = maintenance("09:01", "w", ["m"], "16:00", "17:00")
    assert Desk(*ASKED[:-1], near, tick("09:02")).look("09:02") == ["committed j", "issued j requeue"]


def test_nobody_is_held_room_where_all_nodes_are_near_their_maintenance():
    log: list[Any] = [*BUSY, ASK, maintenance("09:01", "w", ["m", "n"], "17:02", "18:00")]
    last = Desk(*log, tick("09:01:59")).state
    assert isinstance(plan_for(snapshot_of(last, "h100").askers[0], snapshot_of(last, "h100"), Rules()), Plan)
    snapshot = snapshot_of(Desk(*log, tick("09:02")).state, "h100")
    assert [(node.usable, node.closing, node.spare_milli) for node in snapshot.nodes] == [(False, True, 0)] * 2
    found = plan_for(snapshot.askers[0], snapshot, Rules())
    assert isinstance(found, Refusal)
    assert (found.gate, found.name) == ("G5", "not_placeable")
    assert found.sentence.endswith("room for 0 of them; there would be for 2 more on nodes whose maintenance is near")


def test_a_shorter_longest_contract_closes_nodes_later():
    log = [*ASKED[:-1], maintenance("09:01", "w", ["m"], "16:00", "17:00"), policy("09:01", max_min_runtime_s=4 * 3600)]
    desk = Desk(*log, tick("09:02"))
    assert rules_of(desk.state.policy_at(s("09:02"))).max_min_runtime_s == 4 * 3600
    assert desk.look("09:02")[0] == "committed k"


SPANS = st.tuples(st.integers(0, 40_000), st.integers(1, 20_000), st.sets(st.sampled_from("lmn"), min_size=1))
POLICIES = st.fixed_dictionaries({"max_min_runtime_s": st.integers(0, 30_000), "grace_s": st.integers(0, 4_000)})


@settings(max_examples=2_000)
@given(st.lists(SPANS, max_size=4), POLICIES, st.integers(1, 70_000), st.integers(1, 70_000))
def test_nothing_changes_but_at_the_turns(
    spans: list[tuple[int, int, set[str]]], numbers: dict[str, int], at_s: int, later_s: int
):
    """P12's timers: between two instants without a turn the same nodes are near, and the same are emptied."""
    planned = [
        Window(f"w{n}", tuple(sorted(nodes)), since_s, since_s + long_s)
        for n, (since_s, long_s, nodes) in enumerate(spans)
    ]
    first, then = sorted((at_s, later_s))
    before, after = _state(planned, numbers, first), _state(planned, numbers, then)
    if not any(turn_s <= then for turn_s in windows.turns_s(before)):
        assert windows.near(after) == windows.near(before)
        assert windows.emptying(after) == windows.emptying(before)
    inside = {node for window in planned if window.since_s <= then < window.until_s for node in window.nodes}
    assert inside <= set(windows.emptying(after)) <= set(windows.near(after))
    after.forget_windows()
    assert set(windows.near(after)) >= inside


def _state(planned: list[Window], numbers: dict[str, int], at_s: int) -> State:
    state = State("c", ticked_s=at_s, windows={window.window: window for window in planned})
    state.policies.changes.append(PolicyChange(0, tuple(sorted(numbers.items()))))
    return state
