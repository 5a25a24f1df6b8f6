"""At most so many orders an hour: counted from the log, in rank order, and told."""

from __future__ import annotations

from typing import Any

from enforcer.gather import snapshots
from enforcer.pace import NAME, Pace
from enforcer.plan import plan
from enforcer.rules import rules_of
from ledger.units import HOUR_S
from tests.support.said import ended, node, opens, policy, s, shares, started, submitted, tick
from tests.unit.enforcer.test_protocol import Desk

ASKERS = ("p", "q", "r")


def busy(**said: Any) -> list[Any]:
    """Three nodes with unfunded work on each, and three that ask for a node."""
    log = [opens("08:00", enforcement="enforce", **said), shares("08:00", "lab", {"a": 50, "b": 50})]
    for name in ("l", "m", "n"):
        log += [node("08:00", name, 4), submitted("08:00", f"on-{name}", account=None, gpus=4, min_runtime_s=0)]
        log.append(started("08:00", f"on-{name}", on={name: 4}))
    shape = {"nodes": 1, "gpus_per_node_milli": 4000}
    return [*log, *(submitted("09:00", job, account="lab/a", gpus=4, shape=shape) for job in ASKERS), tick("09:02")]


def refusals(desk: Desk) -> dict[str, tuple[str, int | None]]:
    rules = rules_of(desk.state.policy_at(desk.state.ticked_s))
    _, refused = plan(snapshots(desk.state)["h100"], rules)
    return {one.job: (one.name, one.until_s) for one in refused}


def committed(told: list[str]) -> int:
    return sum(one.startswith("committed") for one in told)


def test_without_a_limit_all_are_planned_for():
    assert committed(Desk(*busy()).look("09:02")) == 3


def test_with_one_the_first_in_rank_are_and_the_others_are_told_until_when():
    desk = Desk(*busy(max_orders_per_hour=2))
    told = desk.look("09:02")
    assert (committed(told), sum(one.startswith("issued") for one in told)) == (2, 2)
    assert refusals(desk) == {
        "p": ("planned", None),
        "q": ("planned", None),
        "r": (NAME, s("10:02")),
    }
    assert desk.due("09:02").next_s is not None
    desk.book.restart()
    assert desk.due("09:02").acts == [], "counted from the log, not remembered"
    desk.tell(tick("10:01:59"))
    assert committed(desk.look("10:01:59")) == 0
    desk.tell(tick("10:02"))
    assert committed(desk.look("10:02")) >= 1


def test_the_next_look_is_when_an_order_leaves_the_hour():
    desk = Desk(*busy(max_orders_per_hour=2, grace_s=86_400))
    desk.look("09:02")
    assert desk.due("09:02").next_s == s("10:02")


def test_who_is_held_back_is_not_overtaken():
    pace = Pace((10, 20, 30), 4, at_s=40)
    assert not pace.admits(2)
    assert not pace.admits(1), "one behind it, that would do with one order"
    assert pace.until_s == 10 + HOUR_S
    refused = pace.full("behind")
    assert refused is not None
    assert refused.until_s == 10 + HOUR_S


def test_what_no_hour_has_room_for_is_told_so_and_stops_nobody():
    pace = Pace((), 2, at_s=40)
    assert not pace.admits(3)
    assert pace.refusal("large", 3).until_s is None
    assert pace.admits(2)


def test_a_drain_empties_its_node_no_faster():
    log = [opens("08:00", enforcement="enforce", max_orders_per_hour=1), node("08:00", "n", 4)]
    for job in ("i", "j"):
        log += [submitted("08:00", job, account=None, gpus=2, min_runtime_s=0), started("08:00", job, on={"n": 2})]
    desk = Desk(*log, node("09:00", "n", 4, "draining"), tick("09:00"))
    assert desk.look("09:00") == ["committed i", "issued i cancel"]
    desk.tell(ended("09:00:10", "i", outcome="cancelled"), tick("09:00:30"))
    assert desk.look("09:00:30") == ["settled i preempted", "expired drained 0"]
    assert desk.due("09:00:30").next_s == s("10:00")
    desk.tell(tick("10:00"))
    assert desk.look("10:00") == ["committed j", "issued j cancel"]


def test_observing_shows_what_the_limit_would_do():
    log = busy(max_orders_per_hour=2)
    desk = Desk(log[0], policy("08:00:01", enforcement="observe"), *log[1:])
    assert committed(desk.look("09:02")) == 2
    assert refusals(desk)["r"] == (NAME, s("10:02"))
    desk.tell(policy("09:03", enforcement="enforce"), tick("09:03"))
    assert committed(desk.look("09:03")) == 2, "what was only observed does not count once it is carried out"
