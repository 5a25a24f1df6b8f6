"""Since when a plan was due, and how long it took from then, by the enforcer's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from enforcer.actuators.nobody import Nobody
from enforcer.clusters import Enforcers
from enforcer.service import Enforcer
from ledger.events import EVENT, PlanCommitted
from ledger.rows import Plan
from streams.processor import Processor
from tests.support.folded import folded
from tests.support.said import checkpointed, ended, node, policy, s, started, submitted, t, tick
from tests.unit.enforcer.test_protocol import ASK, BUSY, SHAPE, Desk
from tests.unit.enforcer.test_service import Desk as Serving
from tests.unit.enforcer.test_service import Scheduler


def due_of(desk: Serving, at: str) -> datetime | None:
    """Of the one plan a look makes, ticking where a tick is wanted."""
    while (look := desk.look(at)).tick:
        desk.tell(tick(at))
    (act,) = look.acts
    assert isinstance(act, PlanCommitted)
    return act.data.due


def serving(*log: Any) -> Serving:
    desk = Serving(Scheduler(), *log)
    desk.settle("08:59:59")
    return desk


def test_an_asker_is_due_when_its_delay_is_over():
    desk = serving(*BUSY)
    desk.tell(ASK)
    assert desk.look("09:00").next_s == s("09:00:10"), "it might be a debug run"
    assert desk.settle("09:00:10") == []
    assert desk.look("09:00:10").next_s == s("09:01")
    assert due_of(desk, "09:01:07") == t("09:01"), "late, and says so"


def test_it_is_due_no_sooner_than_those_who_yield_have_banked_their_contracts():
    small: dict[str, Any] = {"account": "lab/b", "gpus": 4, "min_runtime_s": 3600, "resumable": True}
    log = [*BUSY[:4], submitted("08:30", "j", **small), submitted("08:30", "k", **small)]
    log += [started("08:30", "j", on={"n": 4}), started("08:31", "k", on={"m": 4})]
    desk = Desk(*log, ASK, checkpointed("09:25", "j"), checkpointed("09:20", "k"), tick("09:32"))
    (plan,) = desk.due("09:32").acts
    assert isinstance(plan, PlanCommitted)
    assert [victim.job for victim in plan.data.victims] == ["k"]
    assert plan.data.due == t("09:31")


def test_who_was_looked_at_in_vain_is_due_when_the_enforcer_sees_the_change():
    log = [*BUSY[:2], BUSY[3], submitted("08:00", "j", account="lab/b", gpus=4, min_runtime_s=0)]
    desk = serving(*log, started("08:00", "j", on={"n": 4}))
    desk.tell(node("09:00", "n", 4, "down"), ASK)
    assert desk.settle("09:05") == []
    desk.tell(node("09:06:07", "n", 4))
    assert due_of(desk, "09:06:09") == t("09:06:09")


def test_a_new_enforcer_counts_from_the_tick_it_finds():
    desk = serving(*BUSY)
    desk.tell(ASK, tick("09:02"))
    desk.enforcer = Enforcer(desk.scheduler)
    assert due_of(desk, "09:02:05") == t("09:02")


def test_a_tick_is_wanted_when_the_pool_is_another_one_than_at_the_last():
    for told in (
        node("09:00:05", "n", 4, "draining"),
        started("09:00:05", "k", attempt="2", on={"m": 4}),
        ended("09:00:05", "j", outcome="succeeded"),
        policy("09:00:05", debug_delay_s=1),
    ):
        desk = Desk(*BUSY, tick("09:00:04"))
        assert desk.due("09:00:05").next_s is None
        desk.tell(told)
        assert desk.due("09:00:05").next_s == s("09:00:05")


def test_a_debug_run_that_came_since_the_tick_is_planned_for_when_its_delay_is_over():
    desk = Desk(*BUSY, tick("09:00"))
    desk.tell(submitted("09:00:01", "ask", account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=600))
    assert desk.due("09:00:02").next_s == s("09:00:11")
    desk.tell(tick("09:00:11"))
    assert desk.look("09:00:11")[0] == "committed k"


def test_the_book_tells_how_long_it_took_to_the_millisecond():
    now = t("09:01") + timedelta(milliseconds=432)
    processor = Processor()
    book = folded([*BUSY, ASK, tick("09:01")])
    processor.ledger("c").book = book.book
    ((cluster, raw),) = Enforcers(Nobody, lambda: now).look(processor)
    plan = EVENT.validate_json(raw)
    assert isinstance(plan, PlanCommitted)
    assert (cluster, plan.time) == ("c", now)
    book.fold(plan.model_copy(update={"data": plan.data.model_copy(update={"due": t("09:01")}), "recordedtime": now}))
    (row,) = book.tables[Plan].values()
    assert (row.reaction_ms, row.committed_s) == (432, s("09:01"))
    book.restart()
    book.fold(policy("09:02", enforcement="observe"))
    assert book.book.state.acts.plans[plan.id].made.reaction_ms == 432
