"""What is due, step by step, on a book of two nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from enforcer import writing
from enforcer.protocol import Due, due
from enforcer.rules import rules_of
from ledger.events import EVENT, PlanCommitted
from ledger.facts import decode, encode
from ledger.outcomes import Applied
from ledger.rows import Preemption
from ledger.state import State
from tests.support.folded import Folded, folded
from tests.support.said import (
    checkpointed,
    ended,
    node,
    opens,
    policy,
    s,
    shares,
    started,
    submitted,
    t,
    tick,
)

SHAPE = {"nodes": 1, "gpus_per_node_milli": 4000}
ASK = submitted("09:00", "ask", account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=3600)
BUSY: list[Any] = [
    opens("08:00", enforcement="enforce"),
    node("08:00", "n", 4),
    node("08:00", "m", 4),
    shares("08:00", "lab", {"a": 50, "b": 50}),
    submitted("08:00", "j", account="lab/b", gpus=4, min_runtime_s=0, resumable=True),
    submitted("08:00", "k", account="lab/b", gpus=4, min_runtime_s=0),
    started("08:00", "j", on={"n": 4}),
    started("08:30", "k", on={"m": 4}),
]
ASKED = [*BUSY, ASK, tick("09:02")]


class Desk:
    """A book, and an enforcer that reads back what it wrote."""

    def __init__(self, *log: Any) -> None:
        self.book: Folded = folded(log)
        self.told: list[str] = []

    @property
    def state(self) -> State:
        return self.book.book.state

    def tell(self, *log: Any) -> Desk:
        for event in log:
            assert self.book.fold(event) == Applied()
        return self

    def due(self, time: str) -> Due:
        return due(self.state, s(time), rules_of(self.state.policy_at(s(time))))

    def look(self, time: str) -> list[str]:
        """Until nothing is due: what was written, as `kind` and what it says."""
        told: list[str] = []
        for _ in range(10):
            found = self.due(time).acts
            if not found:
                return told
            for act in found:
                EVENT.validate_json(act.model_dump_json(exclude_none=True))
                assert self.book.fold(act.model_copy(update={"recordedtime": t(time)})) == Applied()
                told.append(_short(act))
        raise AssertionError(f"it does not come to an end: {told}")


def _short(act: Any) -> str:
    data = act.data
    said = {
        "committed": lambda: ",".join(v.job for v in data.victims),
        "issued": lambda: f"{data.job} {data.how}",
        "settled": lambda: f"{data.job} {data.outcome}",
        "held": lambda: ",".join(f"{room.node}:{room.gpus_milli}" for room in data.nodes),
        "expired": lambda: f"{data.why} {data.wasted_gpu_ms}",
    }
    kind = act.type.split(".")[2]
    return f"{kind} {said[kind]()}"


PLANNED = ["committed k", "issued k cancel"]


def test_from_the_ask_to_the_start():
    desk = Desk(*ASKED)
    assert desk.look("09:02") == PLANNED
    assert desk.look("09:02:05") == []
    desk.tell(ended("09:02:10", "k", outcome="cancelled"), tick("09:02:11"))
    assert desk.look("09:02:11") == ["settled k preempted", "held m:4000"]
    desk.tell(started("09:02:20", "ask", on={"m": 4}))
    assert desk.look("09:02:20") == ["expired asker_started 0"]
    assert desk.look("09:02:20") == []


def test_it_says_the_same_twice_and_under_the_same_ids():
    desk = Desk(*ASKED)
    first, again = desk.due("09:02"), due(decode(encode(desk.state)), s("09:02"), rules_of(desk.state.policy_at(0)))
    assert [act.model_dump() for act in first.acts] == [act.model_dump() for act in again.acts]
    (plan,) = first.acts
    assert plan.id == plan.data.plan == f"h100/{desk.state.seq}/ask"
    desk.look("09:02")
    assert {plan for plan, *_ in desk.book.tables[Preemption]} == {plan.id}


@pytest.mark.parametrize("stop", range(5))
def test_a_restart_between_any_two_steps_changes_nothing(stop: int):
    """P13: the same is due, and nothing is ordered twice."""
    steps: list[tuple[str, list[Any]]] = [
        ("09:02", []),
        ("09:02:05", []),
        ("09:02:11", [ended("09:02:10", "k", outcome="cancelled"), tick("09:02:11")]),
        ("09:03", []),
        ("09:07:11", [tick("09:07:11")]),
    ]
    clean, desk = Desk(*ASKED), Desk(*ASKED)
    for place, (time, log) in enumerate(steps):
        clean.tell(*log)
        desk.tell(*log)
        if place == stop:
            desk.book.restart()
        assert desk.look(time) == clean.look(time)
    assert desk.book.hash_from_scratch() == clean.book.hash_from_scratch()


def test_room_that_nobody_comes_for_is_given_up_and_counted():
    desk = Desk(*ASKED)
    desk.look("09:02")
    desk.tell(ended("09:02:10", "k", outcome="cancelled"), tick("09:02:11"))
    desk.look("09:02:11")
    assert desk.due("09:03").next_s == s("09:07:11")
    assert desk.look("09:07:10") == []
    assert desk.look("09:07:11") == [f"expired hold_expired {4000 * 300}"]


def test_room_that_somebody_else_has_is_seen_at_the_next_tick():
    desk = Desk(*ASKED)
    desk.look("09:02")
    desk.tell(ended("09:02:10", "k", outcome="cancelled"), tick("09:02:11"))
    desk.look("09:02:11")
    desk.tell(started("09:02:15", "thief", on={"m": 1}))
    assert desk.look("09:02:16") == []
    desk.tell(tick("09:02:41"))
    assert desk.look("09:02:41") == [f"expired taken {4000 * 30}"]
    desk.tell(tick("09:03:11"))
    assert desk.look("09:03:11") == []  # it waits for a minute first
    assert desk.due("09:03:11").next_s == s("09:03:41")
    desk.tell(tick("09:03:41"))
    assert desk.look("09:03:41")[0] == "committed thief"


def test_an_asker_that_is_gone_needs_no_room():
    desk = Desk(*ASKED)
    desk.look("09:02")
    desk.tell(ended("09:02:05", "ask", attempt=None, outcome="cancelled"))
    assert desk.look("09:02:06") == []  # the order stands: the run was told to leave
    desk.tell(ended("09:02:10", "k", outcome="cancelled"))
    assert desk.look("09:02:11") == ["settled k preempted", "expired asker_gone 0"]


def test_who_does_not_leave_ends_the_plan():
    desk = Desk(*ASKED)
    desk.look("09:02")
    assert desk.due("09:02").next_s == s("09:05")  # its grace, and a minute to be killed in
    assert desk.look("09:04:59") == []
    assert desk.look("09:05") == ["settled k timed_out", "expired refused 0"]


@pytest.mark.parametrize(
    ("end", "outcome", "settled"),
    [
        ("09:02:10", "cancelled", "preempted"),
        ("09:01:58", "cancelled", "preempted"),
        ("09:04:05", "failed", "preempted"),
        ("09:04:06", "cancelled", "ignored_signal"),
        ("09:02:10", "succeeded", "ended_by_itself"),
        ("09:02:10", "node_failure", "ended_by_itself"),
    ],
)
def test_how_an_order_is_settled(end: str, outcome: str, settled: str):
    desk = Desk(*ASKED)
    desk.look("09:02")
    desk.tell(ended(end, "k", outcome=outcome, recorded="09:04:10"))
    assert desk.look("09:04:10")[0] == f"settled k {settled}"


def test_a_victim_that_left_before_its_order_is_not_ordered_off():
    desk = Desk(*ASKED)
    (plan,) = desk.due("09:02").acts
    desk.tell(plan.model_copy(update={"recordedtime": t("09:02")}), ended("09:02:01", "k"))
    assert desk.look("09:02:02") == ["expired fits 0"]


def test_a_plan_shrinks_to_those_still_needed():
    small: dict[str, Any] = {"account": "lab/b", "gpus": 2, "min_runtime_s": 0}
    log = [*BUSY[:4], *(submitted("08:00", job, **small) for job in "jkl")]
    log += [started("08:00", "j", on={"n": 2}), started("08:10", "k", on={"n": 2}), started("08:00", "l", on={"m": 4})]
    desk = Desk(*log, ASK, tick("09:02"))
    (plan,) = desk.due("09:02").acts
    assert isinstance(plan, PlanCommitted)
    assert {v.job for v in plan.data.victims} == {"j", "k"}
    desk.tell(plan.model_copy(update={"recordedtime": t("09:02")}), ended("09:02:01", "k"))
    assert desk.look("09:02:02") == ["issued j cancel"]


def test_a_plan_whose_room_went_out_of_service_is_over_before_anybody_leaves():
    desk = Desk(*ASKED)
    (plan,) = desk.due("09:02").acts
    desk.tell(plan.model_copy(update={"recordedtime": t("09:02")}), node("09:02:01", "m", 4, "down"), tick("09:02:02"))
    assert desk.look("09:02:02")[0] == "expired taken 0"


def test_paused_nothing_is_begun_and_what_was_begun_is_ended():
    desk = Desk(*ASKED)
    (plan,) = desk.due("09:02").acts
    desk.tell(plan.model_copy(update={"recordedtime": t("09:02")}), policy("09:02:01", enforcement="paused"))
    assert desk.look("09:02:02") == ["expired stopped 0"]
    assert desk.look("09:02:03") == []
    desk.tell(policy("09:02:04", enforcement="enforce"), tick("09:02:05"))
    assert desk.look("09:02:05") == PLANNED
    desk.tell(policy("09:02:06", enforcement="paused"), ended("09:02:10", "k", outcome="cancelled"))
    assert desk.look("09:02:11") == ["settled k preempted", "held m:4000"]


def test_observed_it_is_told_once_until_it_would_be_over():
    desk = Desk(BUSY[0], policy("08:00:01", enforcement="observe"), *BUSY[1:], ASK, tick("09:02"))
    assert desk.look("09:02") == ["committed k"]
    until = "10:09"  # a grace of 2 min, a hold of 5, a contract of an hour
    assert desk.due("09:02").next_s == s(until)
    assert desk.look("10:08:59") == []
    assert desk.look(until)[0] == "expired observed 0"


def test_observed_it_is_over_when_its_asker_starts_or_is_gone():
    for event, why in (
        (started("09:03", "ask", on={"m": 4}), "asker_started"),
        (ended("09:03", "ask", attempt=None), "asker_gone"),
        (ended("09:03", "k"), "observed"),
    ):
        desk = Desk(BUSY[0], policy("08:00:01", enforcement="observe"), *BUSY[1:], ASK, tick("09:02"))
        desk.look("09:02")
        desk.tell(event)
        assert desk.look("09:03")[0] == f"expired {why} 0"


def test_what_was_only_observed_is_planned_anew_once_it_may_be_carried_out():
    desk = Desk(BUSY[0], policy("08:00:01", enforcement="observe"), *BUSY[1:], ASK, tick("09:02"))
    desk.look("09:02")
    desk.tell(policy("09:03", enforcement="enforce"), tick("09:03"))
    assert desk.look("09:03") == ["expired stopped 0", *PLANNED]


def test_before_its_delay_is_over_an_asker_is_waited_for():
    desk = Desk(*BUSY, ASK, tick("09:00:30"))
    assert desk.due("09:00:30") == Due([], s("09:01"), complete=True)


def test_a_plan_says_all_of_it():
    (plan,) = Desk(*ASKED).due("09:02").acts
    assert isinstance(plan, PlanCommitted)
    data = plan.data
    assert data.asker is not None
    assert (data.asker.job, data.asker.account, data.asker.pieces, data.asker.piece_milli) == ("ask", "lab/a", 1, 4000)
    (victim,) = data.victims
    assert (victim.protection, victim.rule, victim.account, victim.resumable) == ("unfunded", "R0", None, False)
    assert victim.lost_gpu_ms == 4000 * 32 * 60
    assert data.sentences[0].startswith("ask of lab/a asks for 4 GPUs")
    detail = json.loads(data.detail)
    assert detail["alternatives"] == []
    assert (detail["place"], detail["askers"]) == (1, 1)
    assert [*detail["before"], *detail["after"]] == ["lab", "lab/a", "lab", "lab/a"]


def test_a_plan_has_the_ratios_of_both_paths():
    """Of those who yield what is below the common ancestor: the rest is on the asker's own path."""
    banked = submitted("08:00", "k", account="lab/b", gpus=4, min_runtime_s=60, resumable=True)
    log = [*BUSY[:2], BUSY[3], banked, started("08:00", "k", on={"n": 4}), checkpointed("08:35", "k")]
    asker = submitted("08:30", "ask", account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=600)
    (plan,) = Desk(*log, asker, tick("08:40")).due("08:40").acts
    assert isinstance(plan, PlanCommitted)
    detail = json.loads(plan.data.detail)
    assert detail["theirs"] == {"lab/b": [4000 * 2400, 0, 2000 * 2400]}
    assert detail["sides"] == detail["theirs"]


def test_a_detail_that_would_be_too_long_leaves_out_what_is_spared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "LONGEST_DETAIL", 200)
    (plan,) = Desk(*ASKED).due("09:02").acts
    assert isinstance(plan, PlanCommitted)
    detail = json.loads(plan.data.detail)
    assert not {*writing.SPARED} & set(detail)
    assert detail["place"] == 1


def test_names_of_any_length_can_be_ordered_off():
    long = "j" * 256
    small: dict[str, Any] = {"account": "lab/b", "gpus": 4, "min_runtime_s": 0}
    log = [
        *BUSY[:2],
        BUSY[3],
        submitted("08:00", long, **small),
        started("08:00", long, attempt="a" * 256, on={"n": 4}),
    ]
    asker = submitted("09:00", "q" * 256, account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=3600)
    desk = Desk(*log, asker, tick("09:02"))
    assert desk.look("09:02") == [f"committed {long}", f"issued {long} cancel"]
    assert desk.look("09:05")[0] == f"settled {long} timed_out"


# ---------------------------------------------------------------------- drains

FUNDED = submitted("08:00", "p", account="lab/a", gpus=2, min_runtime_s=7200, resumable=True)
SHARED = [*BUSY[:4], BUSY[4], FUNDED, started("08:00", "j", on={"n": 2}), started("08:00", "p", on={"n": 2})]
DRAINS = [*SHARED, node("09:00", "n", 4, "draining"), tick("09:00")]


def test_a_node_that_drains_lets_contracts_end_and_no_more():
    desk = Desk(*DRAINS)
    assert desk.look("09:00") == ["committed j", "issued j requeue"]
    desk.tell(ended("09:00:10", "j", outcome="requeued"), tick("09:00:30"))
    assert desk.look("09:00:30") == ["settled j preempted", "expired drained 0"]
    desk.tell(tick("09:59:59"))
    assert desk.look("09:59:59") == []
    desk.tell(tick("10:00"))
    assert desk.look("10:00") == ["committed p", "issued p requeue"]


def test_a_drain_that_is_observed_is_told_once():
    desk = Desk(*DRAINS[:1], policy("08:00:01", enforcement="observe"), *DRAINS[1:])
    assert desk.look("09:00") == ["committed j"]
    desk.tell(tick("09:30"))
    assert desk.look("09:30") == []


def test_a_drain_is_not_tried_again_at_once():
    desk = Desk(*DRAINS)
    desk.look("09:00")
    assert desk.look("09:03") == ["settled j timed_out", "expired refused 0"]
    desk.tell(tick("09:05"))
    assert desk.look("09:05") == []
    desk.tell(tick("09:13:01"))
    assert desk.look("09:13:01") == ["committed j", "issued j requeue"]


def test_a_gang_leaves_whole_where_one_of_its_nodes_drains():
    gang: dict[str, Any] = {"account": "lab/b", "gpus": 2, "min_runtime_s": 0, "gang": "g"}
    log = [*BUSY[:4], submitted("08:00", "g1", **gang), submitted("08:00", "g2", **gang)]
    log += [started("08:00", "g1", on={"n": 2}), started("08:00", "g2", on={"m": 2})]
    desk = Desk(*log, node("09:00", "n", 4, "draining"), tick("09:00"))
    assert desk.look("09:00") == ["committed g1,g2", "issued g1 cancel", "issued g2 cancel"]


def test_a_node_that_is_down_has_nobody_to_order_off():
    assert Desk(*SHARED, node("09:00", "n", 4, "down"), tick("09:00")).look("09:00") == []
