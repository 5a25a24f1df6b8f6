"""Corners a review of the fold found: each of them once left a book that was not f of its facts, or never came back."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.book import Book
from ledger.nodes import Node
from ledger.rows import Job, OpenHour, Run
from ledger.units import epoch_s
from tests.support.folded import Folded, folded
from tests.support.said import (
    ended,
    grant,
    node,
    opens,
    run,
    shares,
    small_cluster,
    started,
    submitted,
    t,
    tick,
)


def checked(*log: Any) -> Folded:
    book = folded(log)
    book.check()
    return book


def test_a_job_forgotten_within_a_batch_still_gets_its_rows():
    log = [*small_cluster(), submitted("08:00"), started("08:10"), ended("09:10"), tick("10:00"), tick("day 40 10:00")]
    one_by_one, at_once = folded(log), folded(log, take_every=1000)
    assert not at_once.book.state.jobs
    assert at_once.tables[Run]
    assert at_once.tables[Job]
    for table in one_by_one.tables.keys() - {OpenHour}:
        assert at_once.tables[table] == one_by_one.tables[table]


def test_the_first_submission_of_a_run_known_before_reaches_back_to_when_it_was_asked_for():
    asked = run("12:06", start="12:05:30", submitted_at=t("08:00"))
    checked(*small_cluster(), tick("12:05"), asked, submitted("12:10", gpus=3))


def test_a_start_in_another_pool_reaches_back_to_when_the_run_was_asked_for():
    asked = run("12:06", start="12:05:30", submitted_at=t("08:00"))
    others = [node("08:00", "m", gpu_type="b200")]
    checked(*small_cluster(), *others, tick("12:05"), asked, started("12:07", on={"m": 1}))


def test_a_node_told_of_after_its_run_reaches_back_to_when_the_run_was_asked_for():
    asked = run("12:31", start="12:30", submitted_at=t("08:00"), on={"m": 1})
    checked(*small_cluster(), tick("12:30"), asked, node("12:20", "m"))


def test_two_grants_of_two_sources_may_share_an_id():
    first = grant("12:10", "lab/b", 3_600_000, "08:00", "10:00", id="g", source="ann")
    second = grant("12:11", "lab/b", 7_200_000, "08:00", "10:00", id="g", source="bob")
    checked(*small_cluster(), tick("12:05"), first, second)


def test_a_run_stays_in_the_pool_it_started_in_when_the_change_of_type_is_past_the_horizon():
    log = [
        *(opens("08:00"), node("08:00", gpu_type="a100"), shares("08:00", "lab", {"a": 60})),
        *(shares("08:01", "lab", {"b": 60}, gpu_type="h100"), submitted("08:00"), started("08:10"), tick("10:00")),
        *(node("day 3 08:00", gpu_type="h100"), tick("day 3 12:00"), tick("day 39 12:00")),
    ]
    unbroken, restarted = folded(log), folded(log)
    restarted.restart()
    for book in (unbroken, restarted):
        book.fold_all([tick("day 39 14:00"), ended("day 39 14:30"), tick("day 39 16:00")])
        book.check()
    assert restarted.tables == unbroken.tables


def test_a_node_seen_again_as_it_was_cuts_no_hour():
    polls = [node(f"08:{minute:02d}") for minute in range(0, 60, 2)]
    book = checked(*small_cluster(), *polls, node("08:31", state="down"), tick("10:10"))
    state = book.book.state
    assert len(state.node_edges) <= 3
    statements = state.nodes["n"].statements
    down = next(s for s in statements if s.state == "down")
    assert Node("n", statements).edges() == [statements[0].at_s, down.at_s, down.at_s + 60]


@pytest.mark.timeout(20)
def test_a_job_requeued_three_hundred_times_does_not_stop_the_fold():
    book = Book("c")
    for event in [*small_cluster(), submitted("08:00")]:
        book.apply(event, epoch_s(event.recordedtime))
    for n in range(300):
        at, day = n * 120, 2 + n // 700
        clock = [f"day {day} {(at + s) // 3600:02d}:{(at + s) % 3600 // 60:02d}:{(at + s) % 60:02d}" for s in (10, 70)]
        for event in (started(clock[0], attempt=str(n)), ended(clock[1], attempt=str(n), outcome="requeued")):
            book.apply(event, epoch_s(event.recordedtime))
    assert len(book.take()[Run]) == 300
