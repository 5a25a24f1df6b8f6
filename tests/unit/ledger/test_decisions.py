"""What an accepted decision leaves behind: rows for people, and what it changes of the facts."""

from decimal import Decimal
from typing import Any

import pytest

from ledger.decisions import JUDGED
from ledger.outcomes import Applied, Refused, Repeated
from ledger.rows import AccountHour, Correction, Decision, Grant, Maintenance, Posting, Remark, Run, Share
from ledger.windows import Window
from tests.support.folded import Folded, folded
from tests.support.said import (
    ended,
    grant,
    maintenance,
    node,
    opens,
    policy,
    reassigned,
    s,
    say,
    shares,
    small_cluster,
    started,
    submitted,
    t,
    tick,
)


def decisions(book: Folded) -> list[tuple[str, str, str, str]]:
    return [(row.kind, row.subject, row.detail, row.author) for row in book.tables[Decision].values()]


def test_shares_are_rows_by_child():
    book = folded([node("08:00"), shares("08:00", "lab", {"a": ("60.50", 2), "b": 25}, reason="the review")])
    rows = list(book.tables[Share].values())
    assert [(r.pool, r.parent, r.revision, r.child, r.share_percent, r.slot_limit_milli) for r in rows] == [
        ("", "lab", 1, "a", "60.50", 2000),
        ("", "lab", 1, "b", "25", None),
    ]
    assert {(r.effective_s, r.backdated, r.author, r.reason) for r in rows} == {
        (s("08:00"), False, "ann", "the review")
    }


def test_shares_of_one_gpu_type_have_revisions_of_their_own():
    book = folded([*small_cluster(), shares("08:10", "lab", {"a": 10}, gpu_type="b200", effective_at=t("09:00"))])
    row = book.tables[Share]["b200", "lab", 1, "a"]
    assert (row.revision, row.effective_s) == (1, s("09:00"))


def test_a_decision_is_taken_once_whatever_became_of_it():
    book = folded([*small_cluster(), tick("09:05")])
    over = shares("09:06", "lab", {"a": 101 - 1, "b": 1}, 1)
    assert isinstance(book.fold(over), Refused)
    assert book.fold(over) == Repeated()
    fine = shares("09:07", "lab", {"a": 50}, 1)
    assert book.fold(fine) == Applied()
    assert book.fold(fine) == Repeated()  # and not stale
    other = shares("09:08", "lab", {"a": 40}, 2, id=fine.id)
    assert book.fold(other) == Repeated()
    assert book.remarks["id_reused"] == 1
    assert book.book.state.shares.revision("*", "lab") == 2


def test_a_corrected_decision_takes_a_new_id():
    """Under the id of a refused one it is passed over, and the remark says so."""
    book = folded(small_cluster())
    stale = shares("08:20", "lab", {"a": 10}, 7)
    assert isinstance(book.fold(stale), Refused)
    corrected = shares("08:21", "lab", {"a": 10}, 1, id=stale.id)
    assert book.fold(corrected) == Repeated()
    (remark,) = book.tables[Remark].values()
    assert f"under the id {stale.id} of test" in remark.sentence
    assert "also one that was refused: send a corrected decision under a new id" in remark.sentence
    assert book.fold(shares("08:22", "lab", {"a": 10}, 1)) == Applied()
    book.check()


def test_what_was_refused_for_its_time_alone_may_come_again_under_its_id():
    book = folded(small_cluster())
    early = policy("10:00", window_h=24, recorded="08:10")
    refused = book.fold(early)
    assert isinstance(refused, Refused)
    assert refused.name not in JUDGED
    assert book.fold(early.model_copy(update={"recordedtime": early.time})) == Applied()


def test_a_backdated_set_may_begin_before_the_book():
    # Nothing of it is closed before the opening, so there is nothing to be back-dated.
    book = folded([opens("09:00"), node("09:00"), shares("09:30", "lab", {"a": 50}, effective_at=t("01:00"))])
    book.fold(tick("10:05"))
    book.check()


def test_where_no_hour_is_closed_nothing_needs_a_back_date():
    book = folded([tick("10:05")])  # the clock runs, but no node was ever told of
    assert book.fold(shares("10:30", "lab", {"a": 50}, effective_at=t("08:00"))) == Applied()


@pytest.mark.parametrize(("effective", "refused"), [("day 2 09:59:59", True), ("day 2 10:00", False)])
def test_a_back_date_reaches_to_the_first_hour_still_kept(effective: str, refused: bool):
    book = folded([*small_cluster(), policy("08:00", horizon_h=24), tick("day 3 10:05")])
    back = {"effective_at": t(effective), "backdated": True, "reason": "agreed"}
    outcome = book.fold(shares("day 3 10:30", "lab", {"a": 50}, 1, **back))
    assert isinstance(outcome, Refused) is refused
    book.check()


@pytest.mark.parametrize(
    ("effective", "refused"), [("09:59:59", True), ("10:00", False), ("10:30", False), ("12:00", False)]
)
def test_only_closed_hours_need_a_back_date(effective: str, refused: bool):
    book = folded([*small_cluster(), tick("10:05")])
    outcome = book.fold(shares("10:30", "lab", {"a": 50}, 1, effective_at=t(effective)))
    assert isinstance(outcome, Refused) is refused


def test_a_grant_is_a_row_and_a_decision():
    event = grant("08:30", "lab/b", 5_400_000, "09:00", "11:00", reason="deadline")
    book = folded([*small_cluster(), event])
    (row,) = book.tables[Grant].values()
    assert (row.pool, row.account, row.grant, row.amount_gpu_ms) == ("h100", "lab/b", event.id, 5_400_000)
    assert (row.since_s, row.until_s, row.author, row.reason) == (s("09:00"), s("11:00"), "ann", "deadline")
    assert ("grant", "lab/b", "1.5 GPU-hours of h100", "ann") in decisions(book)


NIGHT = ("day 2 20:00", "day 2 22:00")


def test_a_window_is_a_row_and_a_decision_and_the_same_one_again_replaces_it():
    book = folded([*small_cluster(), maintenance("08:30", "w", ["m", "n", "m"], *NIGHT, reason="fans")])
    (row,) = book.tables[Maintenance].values()
    assert (row.window, row.nodes, row.since_s, row.until_s) == ("w", ("m", "n"), *map(s, NIGHT))
    assert (row.cancelled, row.author, row.reason) == (False, "ann", "fans")
    book.fold(maintenance("08:31", "w", ["n"], "day 2 21:00", "day 2 22:00"))
    assert book.book.state.windows == {"w": Window("w", ("n",), s("day 2 21:00"), s("day 2 22:00"))}
    (row,) = book.tables[Maintenance].values()
    assert row.nodes == ("n",)
    assert decisions(book)[-2:] == [
        ("maintenance", "w", "2 nodes, 2026-03-03 20:00 to 2026-03-03 22:00 UTC", "ann"),
        ("maintenance", "w", "1 node, 2026-03-03 21:00 to 2026-03-03 22:00 UTC", "ann"),
    ]


def test_a_window_taken_back_is_told_and_forgotten():
    book = folded([*small_cluster(), maintenance("08:30", "w", ["n"], *NIGHT)])
    assert book.fold(maintenance("08:31", "w", ["n"], *NIGHT, cancelled=True)) == Applied()
    assert book.book.state.windows == {}
    assert [row.cancelled for row in book.tables[Maintenance].values()] == [True]
    assert book.fold(maintenance("08:32", "w", ["n"], *NIGHT, cancelled=True)) == Applied(), "twice is once"
    assert decisions(book)[-1][2].startswith("cancelled (1 node, ")


def test_a_window_that_is_over_is_forgotten_with_the_tick():
    book = folded([*small_cluster(), maintenance("08:30", "w", ["n"], "09:00", "10:00"), tick("09:59:59")])
    assert set(book.book.state.windows) == {"w"}
    book.fold(tick("10:00"))
    assert book.book.state.windows == {}
    book.check()


def test_a_window_books_nothing():
    """Capacity follows what nodes are stated to be, also of a window that lies in closed hours."""
    log = [*small_cluster(), submitted("08:00"), started("08:10"), tick("11:05")]
    without, planned = folded(log), folded([*log, maintenance("11:06", "w", ["n"], "09:00", "day 3 10:00")])
    for kind in (Posting, AccountHour, Correction):
        assert planned.tables[kind] == without.tables[kind]


def test_policy_is_told_field_by_field():
    book = folded([opens("08:00"), policy("08:30", window_h=24, ranking="decay"), opens("09:30", said="08:40")])
    assert [detail for _, _, detail, _ in decisions(book)] == [
        "opens_at=2026-03-02T08:00:00Z",
        "ranking=decay, window_h=24",
        "opens_at=2026-03-02T09:30:00Z",
    ]
    assert {(kind, subject) for kind, subject, _, _ in decisions(book)} == {("policy", "c")}
    assert book.book.state.opens_s == s("09:00")
    assert book.book.state.policy_at(s("08:30")).window_h == 24
    assert book.book.state.policy_at(s("08:29")).window_h == 168


def test_the_same_opening_again_is_no_second_one():
    book = folded([*small_cluster(), tick("09:05")])
    assert book.fold(opens("08:00", said="09:10")) == Applied()
    assert isinstance(book.fold(opens("08:30", said="09:11")), Refused)


def test_a_reassignment_is_told_and_read_at_once():
    book = folded([*small_cluster(), submitted("08:00", account=None), started("08:10"), reassigned("08:20", "lab/b")])
    assert ("reassigned", "j/1", "to lab/b", "ann") in decisions(book)
    row = book.tables[Run]["j", "1"]
    assert (row.account, row.funded, row.seq) == ("lab/b", True, book.book.state.seq)


def test_a_reassignment_may_come_before_the_run():
    book = folded([*small_cluster(), reassigned("08:20", "lab/b"), submitted("08:00", recorded="08:30")])
    book.fold(started("08:10", recorded="08:31"))
    assert book.tables[Run]["j", "1"].account == "lab/b"


def test_an_answer_to_a_request_is_told_and_changes_nothing():
    data: dict[str, Any] = {"request": "r1", "account": "lab/a", "decision": "amended", "author": "ann"}
    data["share_percent"] = Decimal("12.5")
    book = folded([*small_cluster(), tick("09:05")])
    net = book.net()
    assert book.fold(say("share.decided", "09:10", reason="half of it", **data)) == Applied()
    assert ("share_decided", "lab/a", "amended at 12.5 percent (r1)", "ann") in decisions(book)
    assert (
        book.fold(say("share.decided", "09:11", **(data | {"share_percent": None, "decision": "refused"}))) == Applied()
    )
    assert ("share_decided", "lab/a", "refused (r1)", "ann") in decisions(book)
    assert book.net() == net
    assert not book.tables[Correction]


def test_a_maximum_minimum_runtime_counts_for_runs_that_start_from_then_on():
    log = [*small_cluster(), submitted("08:00", min_runtime_s=7200), started("08:10"), ended("08:30")]
    book = folded([*log, started("08:40", attempt="2"), tick("09:05")])
    assert [row.funded for row in book.tables[Run].values()] == [True, True]
    book.fold(policy("08:35", max_min_runtime_s=3600, id="late"))
    rows = book.tables[Run]
    assert (rows["j", "1"].funded, rows["j", "2"].funding_reason) == (True, "min_runtime_over_maximum")
    book.check()
    book.check_runs()
