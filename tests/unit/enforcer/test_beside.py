"""Enforcement in the process that keeps the book: time passes, plans are read back, orders go out."""

from __future__ import annotations

from datetime import datetime

import pytest

from enforcer.beside import Beside
from enforcer.clusters import Enforcers
from ledger.store.protocol import Store
from streams.runtime.embedded import Embedded
from tests.support.chdb import fresh_store
from tests.support.said import t
from tests.unit.enforcer.test_protocol import ASK, BUSY
from tests.unit.enforcer.test_service import Scheduler

TICKS = "SELECT event_id FROM events FINAL WHERE type = 'tenure.clock.ticked.v1' ORDER BY offset"


class Clock:
    now: datetime = t("09:00:10")

    def __call__(self) -> datetime:
        return self.now


def opened(store: Store, clock: Clock, scheduler: Scheduler) -> tuple[Embedded, Beside]:
    runtime = Embedded(store, clock)
    return runtime, Beside(runtime, Enforcers(lambda _: scheduler, clock), clock)


def test_it_ticks_where_nobody_else_does_and_orders_when_it_is_time():
    clock, scheduler = Clock(), Scheduler()
    with fresh_store() as store:
        runtime, beside = opened(store, clock, scheduler)
        runtime.ingest([event.model_dump_json(exclude={"recordedtime"}).encode() for event in (*BUSY, ASK)])
        for at in ("09:00:10", "09:00:11", "09:00:59"):
            clock.now = t(at)
            beside.look()
        assert scheduler.said == []
        clock.now = t("09:01")
        beside.look()
        assert [said.split(" ", 1)[0] for said in scheduler.said] == ["hold", "preempt"]
        beside.look()
        ticks = [str(row[0]).rpartition("/")[2] for row in store.query(TICKS).rows]
        assert [at[11:19] for at in ticks] == ["09:00:00", "09:00:30", "09:01:00"], ticks


def test_killed_after_the_order_it_goes_on_from_the_log():
    clock, scheduler = Clock(), Scheduler()
    clock.now = t("09:00:59")
    with fresh_store() as store:
        runtime, beside = opened(store, clock, scheduler)
        runtime.ingest([event.model_dump_json(exclude={"recordedtime"}).encode() for event in (*BUSY, ASK)])
        clock.now = t("09:01")
        runtime.save = died  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            beside.look()
        plans = runtime.processor.ledger("c").book.state.acts.plans
        again, beside = opened(store, clock, scheduler)
        assert again.processor.ledger("c").book.state.acts.plans == plans
        assert store.query("SELECT job, issued_at IS NOT NULL FROM report_preemptions").rows == [("k", 1)]
        beside.look()
        assert [said for said in scheduler.said if said.startswith("preempt")] == ["preempt k/1 cancel"] * 2


def died() -> None:
    raise KeyboardInterrupt
