"""The enforcer carries out what it reads back, and nothing else; a new one goes on where the last one was."""

from __future__ import annotations

from typing import Any

from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Hold, Order, Outcome
from enforcer.service import AGAIN_S, READ_BACK_S, Enforcer, Look
from ledger.outcomes import Applied
from ledger.state import State
from tests.support.folded import Folded, folded
from tests.support.said import ended, node, opens, policy, s, shares, started, submitted, t, tick

SHAPE = {"nodes": 1, "gpus_per_node_milli": 4000}
BUSY: list[Any] = [
    opens("08:00", enforcement="enforce", grace_s=30, hold_s=300),
    node("08:00", "n", 4),
    shares("08:00", "lab", {"a": 50, "b": 50}),
    submitted("08:00", "j", account="lab/b", gpus=4, min_runtime_s=0, resumable=True),
    started("08:00", "j", on={"n": 4}),
    submitted("09:00", "ask", account="lab/a", gpus=4, shape=SHAPE, min_runtime_s=3600),
    tick("09:00"),
]


class Scheduler:
    """An actuator that notes what it is told, and answers as it is set to."""

    def __init__(self, **answers: str) -> None:
        self.answers = {"left": RUNNING} | answers
        self.asked: list[str] = []

    @property
    def said(self) -> list[str]:
        """Without what only asks."""
        return [said for said in self.asked if not said.startswith("left")]

    def _answer(self, call: str, about: str) -> Outcome:
        self.asked.append(f"{call} {about}")
        return Outcome(self.answers.get(call, ACCEPTED), f"says {call}")

    def preempt(self, order: Order) -> Outcome:
        return self._answer("preempt", f"{order.job}/{order.attempt} {order.how}")

    def left(self, order: Order) -> Outcome:
        return self._answer("left", order.job)

    def kill(self, order: Order) -> Outcome:
        return self._answer("kill", order.job)

    def hold(self, hold: Hold) -> tuple[Outcome, str]:
        return self._answer("hold", f"{hold.nodes} for {hold.asker_job}"), f"hold of {hold.plan}"

    def release(self, handle: str) -> Outcome:
        return self._answer("release", handle)


class Desk:
    """A book, its enforcer, and the log between them."""

    def __init__(self, scheduler: Scheduler, *log: Any) -> None:
        self.book: Folded = folded(log)
        self.scheduler = scheduler
        self.enforcer = Enforcer(scheduler)
        self.written: list[str] = []

    @property
    def state(self) -> State:
        return self.book.book.state

    def tell(self, *log: Any) -> Desk:
        for event in log:
            assert self.book.fold(event) == Applied()
        return self

    def look(self, at: str, *, read_back: bool = True) -> Look:
        """One look, what it wrote read back."""
        look = self.enforcer.look(self.state, s(at) * 1000)
        for act in look.acts:
            self.written.append(act.type.removeprefix("tenure.").removesuffix(".v1"))
            if read_back:
                self.book.fold(act.model_copy(update={"recordedtime": t(at)}))
        return look

    def settle(self, at: str) -> list[str]:
        """Look until nothing more is due, with a tick where one is wanted; what was written."""
        self.written = []
        while (look := self.look(at)).acts or look.tick:
            if look.tick:
                self.tell(tick(at))
        return self.written


def test_from_an_asker_that_waited_to_its_start():
    desk = Desk(Scheduler(), *BUSY)
    assert desk.settle("09:00:30") == []
    assert desk.look("09:00:30").next_s == s("09:01")
    assert desk.settle("09:01") == ["plan.committed", "preemption.issued"]
    assert [said.split(" ", 1)[0] for said in desk.scheduler.said] == ["hold", "preempt"], (
        "room first, lest it be taken"
    )
    assert desk.scheduler.said[1] == "preempt j/1 requeue"
    desk.tell(ended("09:01:10", "j", outcome="requeued"))
    assert desk.settle("09:01:10") == ["preemption.settled", "capacity.held"]
    (plan,) = desk.state.acts.open()
    assert plan.held is not None
    assert plan.held.handle == f"hold of {plan.made.plan}"
    desk.tell(started("09:01:20", "ask", on={"n": 4}))
    assert desk.settle("09:01:20") == ["plan.expired"]
    desk.settle("09:01:21")
    assert desk.scheduler.said[2:] == [f"release hold of {plan.made.plan}"], "nothing was told twice"


def test_an_order_is_given_only_when_it_was_read_back():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    assert desk.look("09:01", read_back=False).acts
    assert desk.look("09:01:01", read_back=False).acts == [], "it was written just now"
    again = desk.look(f"09:01:{READ_BACK_S}", read_back=False).acts
    assert [act.id for act in again] == [f"h100/{desk.state.seq}/ask"]
    assert desk.scheduler.said == []


def test_observing_touches_nothing():
    desk = Desk(Scheduler(), opens("08:00"), *BUSY[1:], tick("09:01"))
    assert desk.settle("09:01") == ["plan.committed"]
    desk.settle("09:30")
    assert desk.scheduler.said == []


def test_a_new_enforcer_asks_again_and_goes_on():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.enforcer = Enforcer(desk.scheduler)
    assert desk.settle("09:01:05") == []
    assert [said.split(" ", 1)[0] for said in desk.scheduler.said] == ["hold", "preempt"] * 2
    desk.tell(ended("09:01:10", "j", outcome="requeued"))
    desk.enforcer = Enforcer(desk.scheduler)
    desk.settle("09:01:10")
    (plan,) = desk.state.acts.open()
    assert plan.held is not None
    assert plan.held.handle, "held again, which gives the same name"
    desk.enforcer = Enforcer(desk.scheduler)
    desk.tell(started("09:01:20", "ask", on={"n": 4}))
    desk.settle("09:01:20")
    desk.settle("09:01:25")
    assert [said for said in desk.scheduler.said if said.startswith("release")] == [f"release {plan.held.handle}"]


def test_a_refusal_is_written_and_ends_the_plan():
    desk = Desk(Scheduler(preempt=REFUSED), *BUSY, tick("09:01"))
    written = desk.settle("09:01")
    assert written == ["plan.committed", "preemption.issued", "preemption.settled", "plan.expired"]
    (plan,) = desk.state.acts.plans.values()
    assert plan.settled["j", "1"].outcome == "refused"
    assert plan.settled["j", "1"].sentence == "says preempt"
    assert plan.expired is not None
    assert plan.expired.why == "refused"
    desk.settle("09:01:01")
    assert desk.scheduler.said[-1].startswith("release")


def test_a_scheduler_that_does_not_answer_is_asked_again_and_again():
    desk = Desk(Scheduler(preempt=UNREACHABLE), *BUSY, tick("09:01"))
    desk.settle("09:01")
    assert desk.look("09:01").next_s == s("09:01") + AGAIN_S
    desk.settle("09:01:05")
    desk.settle("09:01:07")
    desk.scheduler.answers = {"left": RUNNING}
    desk.settle("09:01:10")
    desk.settle("09:01:15")
    assert [said.split(" ", 1)[0] for said in desk.scheduler.said] == ["hold", *["preempt"] * 3]


def test_a_scheduler_that_does_not_answer_is_waited_for_once_in_a_look():
    small: dict[str, Any] = {"account": "lab/b", "gpus": 2, "min_runtime_s": 0}
    log = [*BUSY[:3], submitted("08:00", "i", **small), submitted("08:00", "j", **small)]
    log += [started("08:00", "i", on={"n": 2}), started("08:00", "j", on={"n": 2})]
    desk = Desk(Scheduler(preempt=UNREACHABLE), *log, BUSY[5], tick("09:01"))
    desk.settle("09:01")
    preempts = [said for said in desk.scheduler.said if said.startswith("preempt")]
    assert preempts == ["preempt i/1 cancel"]
    desk.look("09:01:01")
    assert [said for said in desk.scheduler.said if said.startswith("preempt")] == [*preempts, "preempt j/1 cancel"]


def test_who_stays_beyond_the_grace_is_killed_and_who_is_gone_is_not_asked():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.settle("09:01:29")
    assert not [said for said in desk.scheduler.said if said.startswith("kill")]
    desk.settle("09:01:30")
    desk.settle("09:01:32")
    desk.settle("09:01:35")
    assert [said for said in desk.scheduler.said if said.startswith("kill")] == ["kill j"] * 2
    desk.scheduler.answers = {"kill": GONE, "left": LEFT}
    desk.tell(ended("09:01:36", "j", outcome="cancelled"))
    desk.settle("09:01:40")
    assert len([said for said in desk.scheduler.said if said.startswith("kill")]) == 2


def test_a_scheduler_that_cannot_hold_is_not_asked_for_it_again(caplog):
    desk = Desk(Scheduler(hold=REFUSED), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.tell(ended("09:01:10", "j", outcome="requeued"))
    assert desk.settle("09:01:10") == ["preemption.settled", "capacity.held"]
    desk.tell(started("09:01:20", "ask", on={"n": 4}))
    desk.settle("09:01:20")
    desk.settle("09:01:25")
    assert [said.split(" ", 1)[0] for said in desk.scheduler.said] == ["hold", "preempt"]
    (warned,) = caplog.records
    assert warned.getMessage().endswith("its room is kept from nobody. says hold")


def test_it_asks_until_the_scheduler_says_that_it_left():
    """Also after the book knows: some requeue only when they are asked then. And nobody is killed who has left."""
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.settle("09:01:05")
    desk.tell(ended("09:01:08", "j", outcome="requeued"))
    desk.settle("09:01:10")
    desk.enforcer = Enforcer(desk.scheduler)
    desk.settle("09:01:15")
    desk.scheduler.answers = {"left": LEFT}
    desk.settle("09:01:20")
    desk.settle("09:01:40")
    assert [said for said in desk.scheduler.asked if said.startswith("left")] == ["left j"] * 4
    assert not [said for said in desk.scheduler.said if said.startswith("kill")]


# ---------------------------------------------------------------------- plans that are over


def test_it_asks_on_when_the_plan_is_over_before_the_scheduler_says_that_the_run_left():
    """A Workload of Kueue is made active again by that question; without it, it would never start again."""
    for restarted in (False, True):
        desk = Desk(Scheduler(), *BUSY, tick("09:01"))
        desk.settle("09:01")
        desk.tell(ended("09:01:10", "j", outcome="requeued"))
        desk.settle("09:01:10")
        desk.tell(started("09:01:20", "ask", on={"n": 4}))
        assert desk.settle("09:01:20") == ["plan.expired"]
        if restarted:
            desk.enforcer = Enforcer(desk.scheduler)
        desk.scheduler.asked.clear()
        desk.settle("09:01:25")
        assert "left j" in desk.scheduler.asked
        desk.scheduler.answers = {"left": LEFT}
        desk.settle("09:01:30")
        desk.scheduler.asked.clear()
        desk.settle("09:02")
        assert desk.scheduler.asked == []


def test_who_never_says_so_is_asked_ever_less_often_and_neither_told_again_nor_killed():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.settle("09:02:30")
    assert [plan.expired is not None for plan in desk.state.acts.plans.values()] == [True]
    desk.scheduler.asked.clear()
    for minute in range(3, 60):
        desk.settle(f"09:{minute:02}:30")
    about_j = [said for said in desk.scheduler.asked if said.startswith("left") or said.split()[1].startswith("j/")]
    assert set(about_j) == {"left j"}
    assert 3 <= len(about_j) <= 10
    desk.scheduler.asked.clear()
    desk.settle("10:03")
    assert "left j" not in desk.scheduler.asked


# ---------------------------------------------------------------------- pause and resume


def test_paused_no_order_is_given_that_is_not_given_yet_and_resumed_it_is():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.look("09:01")
    desk.look("09:01")
    assert desk.written == ["plan.committed", "preemption.issued"]
    assert desk.scheduler.said == [], "it is in the log, and not carried out yet"
    desk.tell(policy("09:01:01", enforcement="paused"))
    for at in ("09:01:01", "09:03", "09:10"):
        desk.settle(at)
    assert desk.scheduler.said == []
    (plan,) = desk.state.acts.open()
    assert plan.settled == {}, "the time in which nobody was told does not count"
    desk.tell(policy("09:11", enforcement="enforce"))
    assert desk.settle("09:11") == []
    assert desk.scheduler.said[-1] == "preempt j/1 requeue"
    desk.tell(ended("09:11:10", "j", outcome="requeued"))
    assert desk.settle("09:11:10") == ["preemption.settled", "capacity.held"]
    assert plan.settled["j", "1"].outcome == "preempted"


def test_paused_a_plan_without_orders_is_over_and_resumed_its_asker_is_planned_for_anew():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.look("09:01")
    desk.tell(policy("09:01:01", enforcement="paused"))
    assert desk.settle("09:01:01") == ["plan.expired"]
    assert desk.settle("09:02") == []
    desk.tell(policy("09:03", enforcement="enforce"))
    assert desk.settle("09:03") == ["plan.committed", "preemption.issued"]
    assert desk.scheduler.said[-1] == "preempt j/1 requeue"


def test_paused_nobody_is_killed_and_resumed_the_grace_begins_anew():
    desk = Desk(Scheduler(), *BUSY, tick("09:01"))
    desk.settle("09:01")
    desk.tell(policy("09:01:20", enforcement="paused"))
    desk.settle("09:01:40")
    desk.settle("09:05")
    assert not [said for said in desk.scheduler.said if said.startswith("kill")]
    desk.tell(policy("09:06", enforcement="enforce"))
    desk.settle("09:06:29")
    assert not [said for said in desk.scheduler.said if said.startswith("kill")]
    desk.settle("09:06:35")
    assert [said for said in desk.scheduler.said if said.startswith("kill")] == ["kill j"]
