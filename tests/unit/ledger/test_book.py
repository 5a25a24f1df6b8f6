"""The fold itself: how events are dispatched, what a step leaves behind, and when rows are made."""

from typing import Any

import pytest

from ledger.book import Book
from ledger.outcomes import APPLIED, REPEATED
from ledger.rows import TABLES, Correction, Job, OpenHour, Posting, Run
from tests.support.folded import KEYS, folded
from tests.support.said import (
    ended,
    node,
    run,
    s,
    say,
    shares,
    small_cluster,
    started,
    submitted,
    t,
    tick,
)


def test_a_step_counts_events_that_change_facts():
    book = folded([*small_cluster(), *small_cluster(), submitted("08:00"), submitted("08:00")])
    assert book.book.state.seq == 4


@pytest.mark.parametrize("kind", ["notice.raised", "notice.cleared"])
def test_notices_change_nothing(kind: str):
    book = folded(small_cluster())
    before = (book.book.state.seq, book.hash_from_scratch())
    assert book.fold(say(kind, "08:10", rule="budget", account="lab/a", level="80", sentence="four fifths")) == REPEATED
    assert (book.book.state.seq, book.hash_from_scratch()) == before


def test_recorded_time_is_a_running_maximum():
    book = folded([*small_cluster(), tick("10:05"), submitted("10:10"), submitted("09:00", "k", recorded="09:00")])
    assert {row.job: row.recorded_s for row in book.tables[Job].values()} == {"j": s("10:10"), "k": s("10:10")}


def test_a_run_is_written_as_it_reads_when_rows_are_taken():
    book = Book("c")
    for event in [*small_cluster(), submitted("08:00"), started("08:10"), ended("08:30")]:
        assert book.apply(event, s("08:40")) == APPLIED
    rows = book.take()
    assert [(row.started_s, row.ended_s) for row in rows[Run]] == [(s("08:10"), s("08:30"))]
    assert [(row.state, row.attempts) for row in rows[Job]] == [("ended", 1)]
    assert book.take() == {}


def test_a_run_is_written_again_when_something_else_changes_how_it_reads():
    book = folded([*small_cluster(), submitted("08:00", account="lab/c"), started("08:10"), submitted("08:00", "k")])
    known = book.tables[Job]["k",].seq
    book.fold(shares("08:20", "lab", {"a": 60, "c": 25}, 1, effective_at=t("08:05")))
    row = book.tables[Run]["j", "1"]
    assert (row.funded, row.ledger_account, row.seq) == (True, "lab/c", book.book.state.seq)
    assert book.tables[Job]["k",].seq == known  # nothing about it changed


def test_a_run_is_written_again_when_its_node_becomes_known():
    book = folded([*small_cluster(), submitted("08:00"), started("08:10", on={"m": 1})])
    assert book.tables[Run]["j", "1"].flags == ("unknown_node",)
    book.fold(node("08:00", "m", recorded="08:20"))
    assert (book.tables[Run]["j", "1"].flags, book.tables[Run]["j", "1"].pool) == ((), "h100")
    book.check_runs()


@pytest.mark.parametrize("at", ["08:10", "day 2 00:00"])
def test_so_is_a_run_of_no_time_at_all_at_midnight_too(at: str):
    book = folded([*small_cluster(), run(at, start=at, end=at, on={"m": 1}, recorded="day 2 00:10")])
    book.fold(node("08:00", "m", recorded="day 2 00:20"))
    assert book.tables[Run]["j", "1"].pool == "h100"
    book.check_runs()


def test_resuming_goes_on_where_a_state_left_off():
    book = folded([*small_cluster(), submitted("08:00"), started("08:10"), tick("09:05")])
    again = Book("c")
    again.resume(book.book.state)
    again.apply(ended("08:30", recorded="09:10"), s("09:10"))
    rows = again.take()
    assert {row.seq for row in rows[Posting]} == {7}
    assert len(rows[Correction]) == 1


def test_changed_keys_name_what_the_hash_must_look_at():
    book = Book("c")
    for event, keys in [
        (small_cluster()[0], {("", "")}),
        (node("08:00"), {("node", "n"), ("", "")}),
        (node("08:05"), {("node", "n")}),
        (submitted("08:00"), {("job", "j")}),
        (submitted("08:00"), set()),
        (started("08:10"), {("job", "j")}),
        (tick("08:20"), {("", "")}),
    ]:
        book.changed.clear()
        book.apply(event, s("08:30"))
        assert set(book.changed) == keys, event.type


def test_every_table_has_a_key_in_these_tests():
    assert set(KEYS) == set(TABLES)


def test_one_event_at_a_time_whatever_the_batch():
    log: list[Any] = [
        *small_cluster(),
        submitted("08:00"),
        started("08:10"),
        tick("09:05"),
        ended("08:30"),
        tick("10:05"),
    ]
    assert folded(log).tables == folded(log, take_every=3).tables == folded(log, take_every=99).tables
    assert folded(log).tables[OpenHour]
