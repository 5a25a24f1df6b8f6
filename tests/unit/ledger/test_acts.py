"""Plans and orders in the book: what is kept, what is told, what is let go of."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.facts import decode, encode
from ledger.outcomes import Applied, Refused, Repeated
from ledger.rows import Plan, Preemption, Run
from tests.support.folded import Folded, folded
from tests.support.said import (
    committed,
    ended,
    expired,
    held,
    issued,
    policy,
    s,
    settled,
    small_cluster,
    started,
    submitted,
    t,
    tick,
)

NAME = "h100/1/ask"
RUNNING = [*small_cluster(), submitted("08:00", resumable=True), started("08:10")]
STEPS: list[Any] = [
    committed("09:00", "j/1"),
    issued("09:00:01", "j/1"),
    ended("09:00:30", outcome="requeued"),
    settled("09:00:31", "j/1", sentence="It left."),
    held("09:00:32", "09:05"),
    expired("09:05", "hold_expired", wasted_gpu_ms=4000 * 268, sentence="Nobody came."),
]


def test_a_plan_is_told_as_far_as_it_is_carried_out():
    book = folded([*RUNNING, *STEPS])
    plan = book.tables[Plan][NAME,]
    assert (plan.state, plan.mode, plan.purpose, plan.job, plan.account) == (
        "hold_expired",
        "enforce",
        "asker",
        "ask",
        "lab/a",
    )
    assert (plan.victims, plan.freed_milli, plan.lost_gpu_ms) == (1, 4000, 7)
    assert (plan.host_nodes, plan.host_gpus_milli) == (("n",), (4000,))
    assert (plan.sentences, plan.detail) == (("ask asks for 4 GPUs.",), "{}")
    assert (plan.planned_s, plan.committed_s, plan.held_s) == (s("09:00"), s("09:00"), s("09:00:32"))
    assert (plan.held_until_s, plan.expired_s, plan.wasted_gpu_ms) == (s("09:05"), s("09:05"), 1_072_000)
    run = book.tables[Preemption][NAME, "j", "1"]
    assert (run.how, run.issued_s, run.settled_s) == ("requeue", s("09:00:01"), s("09:00:31"))
    assert (run.outcome, run.sentence, run.class_, run.rule) == ("preempted", "It left.", "unfunded", "R0")


def test_before_anything_is_done_the_runs_it_names_are_told():
    book = folded([*RUNNING, STEPS[0]])
    assert book.tables[Plan][NAME,].state == "open"
    run = book.tables[Preemption][NAME, "j", "1"]
    assert (run.how, run.issued_s, run.settled_s, run.outcome) == ("", None, None, "")


def test_its_words_are_kept_while_it_is_open():
    book = folded([*RUNNING, *STEPS[:-1]])
    assert book.book.state.acts.plans[NAME].told == (("ask asks for 4 GPUs.",), "{}")
    book.fold(STEPS[-1])
    assert book.book.state.acts.plans[NAME].told == ((), "")


@pytest.mark.parametrize("place", range(len(STEPS)))
def test_a_step_taken_twice_changes_nothing(place: int):
    book = folded([*RUNNING, *STEPS])
    seq, facts = book.book.state.seq, book.hash_from_scratch()
    assert book.fold(STEPS[place]) == Repeated()
    assert (book.book.state.seq, book.hash_from_scratch()) == (seq, facts)


def test_the_end_may_be_known_before_the_plan():
    late = folded([*RUNNING, STEPS[2], STEPS[0], STEPS[1], *STEPS[3:]])
    clean = folded([*RUNNING, *STEPS])
    assert late.hash_from_scratch() == clean.hash_from_scratch()
    assert late.current(Run) == clean.current(Run)


def test_what_was_refused_stays_refused_until_the_horizon():
    book = folded([*RUNNING, STEPS[0], tick("09:01")])
    second = committed("09:01", "j/1", plan="h100/2/other", job="other")
    assert isinstance(book.fold(second), Refused)
    book.fold(STEPS[-1])
    assert book.fold(second) == Repeated()
    book.fold(tick("day 40 09:00"))
    assert not book.book.state.acts.refused


def test_a_plan_that_is_over_is_let_go_of_with_the_horizon():
    book = folded([*RUNNING, policy("08:00", horizon_h=24), STEPS[0], STEPS[-1], tick("10:05")])
    open_one = committed("10:06", "j/1", plan="h100/2/ask", seq=99)
    assert book.fold(open_one) == Applied()
    book.fold(tick("day 4 10:05"))
    assert list(book.book.state.acts.plans) == ["h100/2/ask"]
    assert book.hash_kept() == book.hash_from_scratch()
    assert [p.made.plan for p in book.book.state.acts.of_asker("ask")] == ["h100/2/ask"]
    outcome = book.fold(committed("09:00", "j/1", plan="h100/7/ask", at=t("09:00")))
    assert isinstance(outcome, Refused)
    assert outcome.name == "beyond_horizon"


def test_the_run_keeps_its_order_when_the_plan_is_gone():
    book = folded([*RUNNING, policy("08:00", horizon_h=24), *STEPS[:2], STEPS[-1], tick("day 4 10:05")])
    assert not book.book.state.acts.plans
    late = ended("day 4 10:00", outcome="cancelled").model_copy(update={"recordedtime": t("day 4 10:06")})
    assert book.fold(late) == Applied()
    assert book.tables[Run]["j", "1"].outcome == "preempted"
    book.check(at_most=24)


def test_of_two_orders_the_first_counts():
    again = [committed("09:30", "j/1", plan="h100/9/ask", seq=99), issued("09:30", "j/1", plan="h100/9/ask")]
    stays = [settled("09:03", "j/1", "timed_out"), expired("09:04", "refused")]
    book = folded([*RUNNING, *STEPS[:2], *stays, *again, ended("09:10", outcome="cancelled", recorded="09:31")])
    assert not book.refused
    assert book.tables[Run]["j", "1"].outcome == "preempted"


def test_a_job_is_kept_while_it_was_ordered_off_within_the_horizon():
    log = [*RUNNING, policy("08:00", horizon_h=24), ended("08:30", outcome="cancelled"), tick("10:05")]
    acts = [committed("day 2 09:00", "j/1"), issued("day 2 09:30", "j/1")]
    book = folded([*log, *acts, tick("day 3 09:05")])
    assert "j" in book.book.state.jobs
    book.fold(tick("day 3 11:05"))
    assert "j" not in book.book.state.jobs
    book.check(at_most=24)


def test_open_plans_are_found_after_a_restart():
    book = folded([*RUNNING, STEPS[0], STEPS[1]])
    acts = decode(encode(book.book.state)).acts
    assert [p.made.plan for p in acts.open()] == [NAME]
    assert acts.open_for("ask") is acts.ordering(("j", "1")) is acts.plans[NAME]
    assert acts.open_for("nobody") is acts.ordering(("k", "1")) is None


def test_a_plan_made_of_the_facts_after_the_last_one_was_over_is_taken():
    book = folded([*RUNNING, STEPS[0], STEPS[-1]])
    assert book.fold(committed("09:06", "j/1", plan="h100/9/ask", seq=book.book.state.seq)) == Applied()


def test_two_drains_of_one_node_may_be_open_at_once():
    book = folded([*RUNNING, started("08:10", "k"), committed("09:00", "j/1", plan="drain/1/n", job=None)])
    assert book.fold(committed("09:01", "k/1", plan="drain/2/n", job=None)) == Applied()
    assert book.tables[Plan]["drain/1/n",].job == ""


def test_closed_hours_are_corrected_by_a_late_order():
    terms: dict[str, Any] = {"account": "lab/b", "min_runtime_s": 600, "resumable": True}
    log = [*small_cluster(), submitted("08:00", **terms), started("08:10"), ended("08:30", outcome="cancelled")]
    book = folded([*log, tick("10:05"), committed("08:20", "j/1").model_copy(update={"recordedtime": t("10:06")})])
    book.check()
    before = book.net()
    for late in (issued("08:20", "j/1"), settled("08:40", "j/1", "refused")):
        book.fold(late.model_copy(update={"recordedtime": t("10:07")}))
        book.check()
    assert book.net() == before


def test_a_book_with_acts_is_the_same_after_a_restart_at_any_step():
    log = [*RUNNING, *STEPS, tick("10:05")]
    clean = folded(log)
    for stop in range(len(log)):
        book = Folded()
        for place, event in enumerate(log):
            book.fold(event)
            if place == stop:
                book.restart()
        assert book.tables == clean.tables
        assert book.hash_from_scratch() == clean.hash_from_scratch()
