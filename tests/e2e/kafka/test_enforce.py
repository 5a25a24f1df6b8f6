"""`tenure enforce` beside `tenure worker` on a real broker: one order, whoever of the enforcers lives to give it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.kafka.producer import publisher
from tests.e2e.kafka.enforced import Enforced, wait
from tests.support.clickhouse import ClickHouseServer
from tests.support.worker import own_broker

pytestmark = pytest.mark.timeout(300)

PLANS = "SELECT job, mode, state FROM report_plans ORDER BY made_seq"
PREEMPTIONS = "SELECT job, attempt, outcome FROM report_preemptions ORDER BY ALL"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Enforced]:
    with (
        own_broker(tmp_path / "kafka", partitions=1) as broker,
        ClickHouseServer() as server,
        publisher(broker.address) as sender,
    ):
        lab = Enforced(tmp_path, broker, server, sender)
        try:
            yield lab
        finally:
            lab.close()


def test_observed_at_first_and_then_carried_out_to_the_end(lab: Enforced):
    lab.begin()
    lab.ask("asker")
    with lab.worker() as worker, lab.enforcer() as enforcer:
        lab.until(PLANS, [("asker", "observe", "open")])
        assert lab.receiver.calls == []

        lab.tell("policy.set", author="root", enforcement="enforce")
        wait(lab.orders)
        (order,) = lab.orders()
        assert (order.data["job"], order.data["attempt"], order.data["how"]) == ("victim", "1", "requeue")
        assert lab.told() == ["hold", "preempt"], "room first, lest it be taken"
        lab.end("victim")
        lab.until("SELECT held_at IS NULL, state FROM report_plans WHERE mode = 'enforce'", [(0, "open")])
        lab.start("asker")
        lab.until(PLANS, [("asker", "observe", "stopped"), ("asker", "enforce", "asker_started")])
        wait(lambda: lab.told() == ["hold", "preempt", "release"], lab.told)
        assert lab.rows(PREEMPTIONS) == [("victim", "1", ""), ("victim", "1", "preempted")]
        assert len(lab.orders()) == 1
        for process in (enforcer, worker):
            code, logged = process.stop()
            assert (code, "Traceback" in logged) == (0, False), logged
    lab.verified()


def test_the_enforcer_is_killed_between_the_order_and_its_end_and_another_takes_over(lab: Enforced):
    lab.begin(enforcement="enforce")
    with lab.worker() as worker, lab.enforcer() as first, lab.enforcer() as second:
        wait(lambda: first.health()["partitions"] or second.health()["partitions"])
        lab.ask("asker")
        wait(lab.orders)
        owner, other = (first, second) if first.health()["partitions"] else (second, first)
        owner.kill()
        other.begin()
        wait(lambda: [call for call in lab.receiver.calls if call.kind == "left"])
        lab.end("victim")
        lab.until("SELECT held_at IS NULL, state FROM report_plans", [(0, "open")])
        lab.start("asker")
        lab.until(PLANS, [("asker", "enforce", "asker_started")])
        wait(lambda: lab.told()[-1] == "release", lab.told)
        assert len({(order.name, str(order.data)) for order in lab.orders()}) == 1
        assert lab.receiver.told == {("victim", "1"): 1}
        assert lab.rows(PREEMPTIONS) == [("victim", "1", "preempted")]
        for process in (other, worker):
            code, logged = process.stop()
            assert (code, "Traceback" in logged) == (0, False), logged
    lab.verified()
