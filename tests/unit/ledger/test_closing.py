"""When hours close, what is provisional before, and what the horizon lets go of."""

from typing import Any

import pytest

from ledger.closing import close_cause, still_live
from ledger.facts import records
from ledger.queue import Wait
from ledger.rows import AccountHour, ClusterHour, NodeHour, OpenHour, Posting, Run
from ledger.runs import derive
from ledger.state import NOTHING, Derived
from ledger.statements import Terms, cause_of
from ledger.units import FOREVER_S
from tests.support.folded import Folded, folded
from tests.support.said import (
    checkpointed,
    ended,
    node,
    opens,
    policy,
    reassigned,
    resumed,
    run,
    s,
    shares,
    small_cluster,
    started,
    submitted,
    suspended,
    t,
    tick,
    updated,
)
from tests.support.world import World, job


def closed(book: Folded) -> list[int]:
    return list(book.book.state.closed_hours(0, FOREVER_S))


@pytest.mark.parametrize(
    ("at", "hours"),
    [("09:04:59", 0), ("09:05", 1), ("10:04:59", 1), ("10:05", 2), ("08:00", 0), ("12:05", 4)],
)
def test_an_hour_is_closed_once_its_end_and_five_minutes_have_passed(at: str, hours: int):
    assert len(closed(folded([*small_cluster(), tick(at)]))) == hours


def test_the_watermark_is_the_greatest_tick():
    book = folded([*small_cluster(), tick("10:05"), tick("09:05")])
    assert closed(book) == [s("08:00"), s("09:00")]
    assert book.book.state.seq == 4  # the smaller tick is no event that changes anything


def test_closing_posts_f_under_a_cause_of_its_own():
    book = folded([*small_cluster(), tick("10:05")])
    causes = {(row.hour_s, row.cause) for row in book.tables[Posting].values()}
    assert causes == {(h, close_cause("c", h)) for h in (s("08:00"), s("09:00"))}
    assert close_cause("c", 3600) == cause_of("close", "c/3600", 0)
    assert close_cause("c", 3600) != close_cause("d", 3600)
    for kind in (AccountHour, ClusterHour):
        assert {row.cause for row in book.tables[kind].values()} == {cause for _, cause in causes}


def test_nothing_is_closed_before_the_book_opens():
    assert closed(folded([shares("08:00", "lab", {"a": 60}), tick("12:05")])) == []
    assert closed(folded([opens("10:30"), node("08:00"), tick("12:05")])) == [s("10:00"), s("11:00")]


def test_a_late_node_opens_the_book_earlier_and_closes_what_is_missing():
    late = node("08:30", "m", 2)
    book = folded([node("10:00"), tick("11:05"), late])
    assert closed(book) == [s("08:00"), s("09:00"), s("10:00")]
    cause = cause_of(late.source, late.id, 3)
    assert {row.cause for row in book.tables[Posting].values() if row.hour_s < s("10:00")} == {cause}
    assert book.tables[NodeHour]["h100", "m", s("08:00")].capacity_gpu_ms == 2000 * 1800
    book.check()


def test_an_opening_set_before_the_first_close_moves_the_book():
    book = folded([node("10:00"), opens("08:00", said="10:30"), tick("11:05")])
    assert closed(book) == [s("08:00"), s("09:00"), s("10:00")]
    book.check()


# ---------------------------------------------------------------------- a first word years back


@pytest.mark.parametrize(
    "opening",
    [
        (node("day -9000 08:00", recorded="08:00"),),
        (node("day -9000 08:00", "m", recorded="07:00"), node("08:00")),
        (opens("day -9000 08:00", said="08:00"), node("08:00")),
    ],
)
def test_the_first_tick_opens_no_hour_beyond_the_horizon(opening: tuple[Any, ...]):
    """A node whose clock says 2001 would have a quarter of a million hours closed."""
    book = folded([*opening, DAY, tick("09:05")])
    assert closed(book) == [s("day 0 09:00") + n * 3600 for n in range(24)]
    assert {row.hour_s for row in book.tables[Posting].values()} <= set(closed(book))
    book.fold(tick("10:05"))
    assert {row.hour_s for row in book.tables[Posting].values()} <= {*closed(book), s("day 0 09:00")}
    book.check()


def test_a_clock_wrong_by_years_behind_the_first_tick_opens_no_hour_beyond_the_horizon():
    book = folded([DAY, tick("08:06"), node("09:00"), tick("10:05"), node("day -9000 08:00", "m", recorded="10:06")])
    assert closed(book)[0] == s("day 0 10:00")
    book.check()


def test_an_outage_of_tenure_longer_than_the_horizon_loses_no_hour():
    book = folded([*small_cluster(), DAY, tick("09:05"), tick("day 4 10:05")])
    assert {row.hour_s for row in book.tables[Posting].values()} == {s("08:00") + n * 3600 for n in range(74)}


# ---------------------------------------------------------------------- open hours


def open_hours(book: Folded) -> dict[tuple[int, str], OpenHour]:
    """Rows of the last tick; older ones are stale."""
    now = {key: row for key, row in book.tables[OpenHour].items() if row.seq == book.book.state.seq}
    return {(row.hour_s, row.account): row for row in now.values()}


def test_open_hours_are_true_up_to_the_tick():
    book = folded([*small_cluster(), submitted("08:00"), started("08:10"), tick("09:03")])
    rows = open_hours(book)
    assert {hour for hour, _ in rows} == {s("08:00"), s("09:00")}
    eight, nine = rows[s("08:00"), "lab/a"], rows[s("09:00"), "lab/a"]
    assert (eight.until_s, nine.until_s) == (s("09:00"), s("09:03"))
    assert (eight.charged_gpu_ms, nine.charged_gpu_ms) == (1000 * 3000, 1000 * 180)
    assert (eight.claim_gpu_ms, nine.claim_gpu_ms) == (8_640_000, 4000 * 180 * 60 // 100)
    assert nine.commitment_gpu_ms == 1000 * 420  # 09:10 is the contract's end
    assert rows[s("09:00"), "lab/b"].charged_gpu_ms == 0


def test_a_closed_hour_is_open_no_more():
    book = folded([*small_cluster(), tick("09:03"), tick("09:05")])
    assert {hour for hour, _ in open_hours(book)} == {s("09:00")}


def test_a_tick_with_a_later_one_in_hand_spares_its_open_hours():
    book = folded(small_cluster())
    book.book.apply(tick("08:30"), s("08:30"), last_tick=False)
    assert OpenHour not in book.book.take()
    book.book.apply(tick("08:31"), s("08:31"))
    assert OpenHour in book.book.take()


def test_without_a_node_there_are_no_open_hours():
    assert open_hours(folded([shares("08:00", "lab", {"a": 60}), tick("08:30")])) == {}
    assert open_hours(folded([opens("10:00"), node("08:00"), tick("09:30")])) == {}  # not yet open


# ---------------------------------------------------------------------- the horizon

DAY = policy("08:00", horizon_h=24)


def keys(book: Folded) -> set[tuple[str, str]]:
    return {key for key, _ in records(book.book.state) if key != ("", "")}


def test_hours_leave_the_state_when_the_horizon_passes_them():
    book = folded([*small_cluster(), DAY, tick("09:05"), tick("day 2 10:05")])
    assert book.book.state.horizon_s == s("10:00")
    assert min(book.book.state.hours) == s("10:00")
    assert len(closed(book)) == 24
    assert {row.hour_s for row in book.tables[Posting].values()} > {s("08:00"), s("09:00")}  # what is written stays
    book.check()


@pytest.mark.parametrize(
    ("log", "stays"),
    [
        ([submitted("08:00"), started("08:10"), ended("09:00")], False),
        ([submitted("08:00"), started("08:10"), ended("10:00")], True),  # it ends at the first kept hour
        ([submitted("08:00"), started("08:10"), ended("09:59:59")], False),
        ([submitted("08:00"), started("08:10")], True),
        ([submitted("08:00")], True),  # it waits
        ([submitted("08:00", held=True)], True),  # it waits for nobody's capacity, but it may start
        ([submitted("08:00", eligible_from=t("day 9 08:00"))], True),
        ([submitted("08:00"), updated("08:10", held=True)], True),
        ([submitted("08:00"), ended("09:00", attempt=None, outcome="cancelled")], False),
        ([run("09:00", start="08:00", end="09:00")], False),
        ([run("09:00", start="08:00")], True),
        ([ended("09:00")], False),  # of nothing that was ever started
        ([ended("12:00")], True),
        ([checkpointed("09:00"), suspended("09:10"), resumed("09:20")], False),
        ([checkpointed("12:00")], True),
        ([reassigned("08:30", "lab/b")], True),  # whatever is told of the run later, it is theirs
    ],
)
def test_jobs_leave_the_state_when_nothing_of_them_can_touch_a_kept_hour(log: list[Any], stays: bool):
    book = folded([*small_cluster(), DAY, *log, tick("day 2 10:05"), tick("day 2 10:06")])
    assert (("job", "j") in keys(book)) is stays
    assert book.hash_kept() == book.hash_from_scratch()
    book.check()


def test_a_job_held_for_longer_than_the_horizon_starts_under_its_terms():
    book = folded([*small_cluster(), DAY, submitted("08:00", held=True), tick("day 3 10:05")])
    book.fold(updated("day 3 10:06", held=False))
    book.fold(started("day 3 10:10"))
    book.fold(tick("day 3 11:05"))
    assert book.tables[Run]["j", "1"].ledger_account == "lab/a"
    book.check()


def test_the_word_in_force_on_a_node_stays():
    log = [*small_cluster(), DAY, node("09:00", gpus=8), node("12:00", gpus=6), tick("day 2 10:05")]
    book = folded(log)
    assert [one.at_s for one in book.book.state.nodes["n"].statements] == [s("09:00"), s("12:00")]
    assert book.hash_kept() == book.hash_from_scratch()
    book.check()


def test_a_longer_horizon_does_not_bring_hours_back():
    book = folded(
        [*small_cluster(), DAY, tick("day 2 10:05"), policy("day 2 10:06", horizon_h=100), tick("day 2 12:05")]
    )
    assert book.book.state.horizon_s == s("10:00")
    book.check()


def test_while_the_horizon_has_not_reached_the_opening_nothing_is_let_go_of():
    # The opening may still move back; then what ended before it may matter.
    old = run("08:00", start="day -40 08:00", end="day -40 09:00")
    book = folded([*small_cluster(), old, node("day -40 08:00", "m"), tick("09:05")])
    assert book.book.state.horizon_s < s("08:00")
    assert {("job", "j"), ("node", "m")} <= keys(book)


def test_before_the_book_opens_the_horizon_takes_nothing():
    book = folded([DAY, submitted("08:00"), started("08:10"), ended("09:00"), tick("day 3 10:05")])
    assert ("job", "j") in keys(book)


def wait(a: int, b: int) -> Wait:
    return Wait(a, b, Terms(), a)


@pytest.mark.parametrize(("until", "live"), [(99, True), (100, False), (101, False)])
def test_a_job_is_live_while_it_may_touch_a_later_hour(until: int, live: bool):
    assert still_live(Derived((), (wait(0, 50), wait(60, 100)), ()), until) is live
    assert not still_live(NOTHING, until)


@pytest.mark.parametrize(("until", "live"), [(99, True), (100, False)])
def test_a_run_is_live_until_it_ends(until: int, live: bool):
    assert still_live(Derived(derive(job(starts={"1": 50}, ends={"1": 100}), World()), (), ()), until) is live


def test_a_settled_job_is_looked_at_no_more_until_something_is_said_of_it():
    book = folded([*small_cluster(), submitted("08:00"), started("08:10"), ended("08:30"), tick("09:05")])
    assert "j" not in book.book.state.live
    book.fold(submitted("10:00", recorded="10:00"))
    assert "j" in book.book.state.live
    book.fold(tick("11:05"))
    assert "j" in book.book.state.live  # it waits
    book.check()


def test_times_are_of_the_day_they_name():
    assert t("day 2 10:05") > t("10:05")
