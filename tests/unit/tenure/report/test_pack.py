"""The pack of a book small enough to be reckoned by hand: small_book.py has its rows."""

from typing import Any

import pytest

from ledger.store.protocol import Store
from tenure.report import csv
from tenure.report.pack import MONEY, Pack
from tenure.report.period import Asked, PeriodRefused, iso
from tenure.report.review import NotThere
from tenure.report.tables import Part
from tests.unit.tenure.report import small_book as book
from tests.unit.tenure.report.small_book import CLOSED, CORRECTED, END, FIRST, SECOND, gh, reviewed


def stages(pack: Pack) -> dict[str, Any]:
    return {str(row["stage"]).strip(): row for row in pack.section("waterfall").records()}


def amounts(pack: Pack) -> dict[str, float]:
    return {name: row["amount_gpu_ms"] / gh(1) for name, row in stages(pack).items()}


def account(pack: Pack, name: str) -> dict[str, Any]:
    return next(row for row in pack.section("accounts").records() if row["account"] == name)


def test_the_waterfall_goes_from_capacity_to_use(book_as_closed: Store):
    assert amounts(reviewed(book_as_closed, measured=True)) == {
        "capacity": 16,
        "unavailable, planned": 1,
        "unavailable, unplanned": 0,
        "available": 15,
        "free": 1,
        "occupied": 14,
        "suspended": 1,
        "unfunded": 1,
        "funded": 12,
        "protected": 5,
        "interruptible": 7,
        "utilized": 0,
    }


def test_a_step_is_a_part_of_the_one_before_and_says_what_it_covers(book_as_closed: Store):
    found = stages(reviewed(book_as_closed, measured=True, period=Asked(iso(FIRST), iso(END + 2 * 3600))))
    assert found["available"]["part"] == Part(gh(15), gh(16))
    assert found["occupied"]["part"] == Part(gh(14), gh(15))
    assert found["funded"]["part"] == Part(gh(12), gh(14))
    assert found["capacity"]["coverage"] == Part(2, 4)
    assert found["utilized"]["part"] == Part(0, 0)
    assert found["utilized"]["coverage"] == Part(0, gh(12))


def test_an_account_is_the_sum_of_its_leaves(book_as_closed: Store):
    lab = account(reviewed(book_as_closed), "lab")
    assert {name: value / gh(1) for name, value in lab.items() if name.endswith("_gpu_ms")} == {
        "claim_gpu_ms": 15,
        "grant_gpu_ms": 1,
        "claimed_gpu_ms": 16,
        "demand_gpu_ms": 16,
        "owed_gpu_ms": 12,
        "charged_gpu_ms": 12,
        "refunded_gpu_ms": 1,
        "delivered_gpu_ms": 11,
        "window_delivered_gpu_ms": 11,
        "window_claim_gpu_ms": 16,
        "unfunded_gpu_ms": 1,
        "commitment_gpu_ms": 4,
    }


def test_delivered_over_owed_is_strict_and_over_the_period(book_as_closed: Store):
    pack = reviewed(book_as_closed)
    # lab/a got 3 of 5, then 6 where 4 were owed; lab/b got 1 of 1, then 1 of 2.
    found = {name: (account(pack, name)["strict"], account(pack, name)["period"]) for name in ("lab/a", "lab/b", "lab")}
    assert found == {
        "lab/a": (Part(gh(7), gh(9)), Part(gh(9), gh(9))),
        "lab/b": (Part(gh(2), gh(3)), Part(gh(2), gh(3))),
        "lab": (Part(gh(9), gh(12)), Part(gh(11), gh(12))),
    }


def test_the_ratio_is_delivered_and_bound_over_the_claim_in_the_window(book_as_closed: Store):
    pack = reviewed(book_as_closed)
    assert account(pack, "lab/a")["ratio"] == Part(gh(9 + 1), gh(9))
    assert account(pack, "lab/b")["ratio"] == Part(gh(2 + 3), gh(7))
    assert account(pack, "lab")["ratio"] == Part(gh(11 + 4), gh(16))


def test_the_ratio_is_as_of_the_statement_whatever_the_period(book_as_closed: Store):
    first = reviewed(book_as_closed, period=Asked(iso(FIRST), iso(SECOND)))
    assert account(first, "lab/b")["delivered_gpu_ms"] == gh(1)
    assert account(first, "lab/b")["ratio"] == Part(gh(2 + 3), gh(7))
    assert account(first, "lab/b")["commitment_gpu_ms"] == gh(3)


def test_as_of_counts_nothing_later(book_as_closed: Store):
    pack = reviewed(book_as_closed, as_of=iso(SECOND + 60))
    assert pack.header.question.until_s == pack.header.question.asked_until_s == SECOND
    assert amounts(pack)["occupied"] == 6
    assert account(pack, "lab/a")["ratio"] == Part(gh(3 + 2), gh(5))


@pytest.mark.parametrize(("weighting", "used"), [("window_h=1, ranking=sliding", 8), ("horizon_h=1", 8)])
def test_the_window_is_that_of_the_policy_and_inside_the_horizon(store: Store, weighting: str, used: int):
    book.closed(store)
    book.write(store, book.decision("policy", "c", weighting, FIRST - 60))
    found = account(reviewed(store), "lab")
    assert (found["window_delivered_gpu_ms"], found["window_claim_gpu_ms"]) == (gh(used - 1), gh(8))


def test_a_half_life_weighs_hours_and_not_what_is_bound(store: Store):
    book.closed(store)
    book.write(
        store,
        book.decision("policy", "c", "half_life_h=1, ranking=decay", FIRST - 60),
        book.decision("policy", "c", "window_h=1, ranking=sliding", END + 60, seq=6),
    )
    # Of lab/b: 1 of 3 two half-lives ago, 1 of 4 one half-life ago; 3 still bound.
    found = account(reviewed(store), "lab/b")
    assert (found["window_delivered_gpu_ms"], found["window_claim_gpu_ms"]) == (gh(0.75), gh(2.75))
    assert found["ratio"] == Part(gh(3.75), gh(2.75))
    assert reviewed(store).header.ranking == "by a half-life of 1 h"


def test_a_subtree_has_the_pools_capacity_and_its_own_use(book_as_closed: Store):
    pack = reviewed(book_as_closed, measured=True, account="lab/a")
    assert amounts(pack) == {
        "capacity": 16,
        "unavailable, planned": 1,
        "unavailable, unplanned": 0,
        "available": 15,
        "claim": 9,
        "occupied": 12,
        "suspended": 1,
        "unfunded": 1,
        "funded": 10,
        "protected": 4,
        "interruptible": 6,
        "utilized": 0,
    }
    assert [row["account"] for row in pack.section("accounts").records()] == ["lab/a"]


def test_the_tree_is_drawn_in_with_own_parts_first_and_the_nameless_last(store: Store):
    book.closed(store)
    book.write(
        store,
        book.hour("lab/a/.", FIRST, 11, CLOSED, claim=1),
        book.hour("lab/a/x", FIRST, 11, CLOSED, claim=1),
        book.hour("", FIRST, 11, CLOSED, unfunded=1),
    )
    assert [row["shown"] for row in reviewed(store).section("accounts").records()] == [
        "lab",
        "  a",
        "    (own part)",
        "    x",
        "  b",
        "(no account named)",
    ]


# ---------------------------------------------------------------- known at


def money(pack: Pack) -> dict[str, str]:
    return {name: csv.rendered(pack.section(name)) for name in sorted(MONEY)}


def test_what_was_known_then_is_printed_again_exactly(store: Store):
    book.closed(store)
    then = money(reviewed(store, known_at=iso(CLOSED)))
    book.corrected(store)
    assert money(reviewed(store, known_at=iso(CLOSED))) == then
    assert money(reviewed(store, known_at=iso(CORRECTED - 1))) == then
    now = money(reviewed(store))
    assert all(now[name] != then[name] for name in MONEY)
    assert now["accounts"] == money(reviewed(store, known_at=iso(CORRECTED)))["accounts"]


def test_a_correction_changes_the_present(store: Store):
    book.closed(store)
    book.corrected(store)
    pack = reviewed(store)
    assert account(pack, "lab/a")["strict"] == Part(gh(6), gh(9))
    assert account(pack, "lab/a")["ratio"] == Part(gh(8 + 1), gh(9))
    assert {name: amounts(pack)[name] for name in ("free", "occupied", "protected", "funded")} == {
        "free": 2,
        "occupied": 13,
        "protected": 4,
        "funded": 11,
    }


def test_what_corrections_came_to_is_told(store: Store):
    book.closed(store)
    book.corrected(store)
    pack = reviewed(store)
    assert pack.section("corrections").rows == (
        ("tenure.job.ended.v1", "job.ended", 1, 1, gh(1), CORRECTED, CORRECTED),
    )
    assert pack.section("effect").rows == (
        ("h100", "claim", gh(16), gh(16), 0),
        ("h100", "owed", gh(12), gh(12), 0),
        ("h100", "delivered", gh(11), gh(10), gh(-1)),
        ("h100", "unfunded", gh(1), gh(1), 0),
    )
    assert reviewed(store, known_at=iso(CLOSED)).section("corrections").rows == ()


def test_corrections_of_a_subtree_are_those_that_touched_it(store: Store):
    book.closed(store)
    book.corrected(store)
    assert reviewed(store, account="lab/a").section("corrections").rows
    assert not reviewed(store, account="lab/b").section("corrections").rows
    assert reviewed(store, pool="h100").section("corrections").rows


def test_an_account_brought_into_an_hour_later_had_nothing_when_it_was_closed(store: Store):
    book.closed(store)
    book.write(store, book.hour("lab/c", FIRST, book.CORRECTING_SEQ, CORRECTED, charged=2, owed=1))
    delivered = reviewed(store, account="lab/c").section("effect").records()[2]
    assert (delivered["closed_gpu_ms"], delivered["known_gpu_ms"]) == (0, gh(2))


def test_what_was_not_settled_is_not_known(store: Store):
    book.closed(store)
    before = money(reviewed(store))
    unsettled = book.hour("lab/a", FIRST, book.LAST_SEQ + 1, CORRECTED, charged=8, owed=8)
    store.write("g1", {type(unsettled): [unsettled]})
    assert money(reviewed(store)) == before


# ---------------------------------------------------------------- what cannot be


def test_a_period_without_a_closed_hour_is_refused(book_as_closed: Store):
    for given in (
        {"period": Asked(iso(END), iso(END + 3600))},
        {"known_at": iso(CLOSED - 1)},
        {"as_of": iso(FIRST + 60)},
    ):
        with pytest.raises(PeriodRefused, match="nothing_closed"):
            reviewed(book_as_closed, **given)


def test_a_pool_or_account_that_is_not_there_is_refused_with_what_there_is(book_as_closed: Store):
    with pytest.raises(NotThere, match="only h100"):
        reviewed(book_as_closed, pool="b200")
    with pytest.raises(NotThere, match="did you mean lab/a"):
        reviewed(book_as_closed, account="lab/aa")


def test_hours_that_are_missing_are_told(book_as_closed: Store):
    pack = reviewed(book_as_closed, period=Asked(iso(FIRST - 3600), iso(END + 3600)))
    assert (pack.header.closed_hours, pack.header.asked_hours) == (2, 4)
    assert pack.section("warnings").records()[0] | {"sentence": ""} == {
        "warning": "missing_hours",
        "subject": "c",
        "number": 2,
        "amount_gpu_ms": None,
        "sentence": "",
    }


def test_a_known_at_ahead_of_the_log_is_told(book_as_closed: Store):
    ahead = reviewed(book_as_closed, known_at=iso(CORRECTED + 61)).section("warnings").records()
    assert [row["warning"] for row in ahead] == ["known_at_ahead"]
    assert not reviewed(book_as_closed, known_at=iso(CORRECTED + 59)).section("warnings").rows


def test_overbooked_hours_and_remarks_are_warned_of(store: Store):
    book.closed(store)
    over: dict[str, Any] = {"kind": "overbooked", "run": ""}
    book.write(
        store,
        book.occupied("", FIRST, "", -1.5, **over),
        book.occupied("", SECOND, "", -0.5, **over),
        book.occupied("", SECOND, "", -0.25, **over, node="n2"),
        book.occupied("", SECOND, "", 0.25, 20, **over, node="n2"),
        book.make(
            book.Remark, cluster="c", seq=12, name="unknown_node", sentence="send the nodes first", recorded_s=END
        ),
        book.hour("lab/typo", FIRST, 11, CLOSED, unfunded=2),
    )
    found = [tuple(row)[:4] for row in reviewed(store).section("warnings").rows]
    assert found == [
        ("overbooked_hours", "n1 (h100)", 2, gh(2)),
        ("no_claim", "lab/typo (h100)", None, gh(2)),
        ("remark", "unknown_node", 1, None),
    ]
