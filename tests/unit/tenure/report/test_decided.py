"""What was asked, decided, corrected and refused."""

from typing import Any

import pytest

from ledger.store.protocol import Store
from ledger.units import DAY_S
from tenure.report.decided import difference
from tenure.report.period import iso
from tenure.report.values import ShareLine
from tests.unit.tenure.report import small_book as book
from tests.unit.tenure.report.small_book import CLOSED, CORRECTED, END, FIRST, SECOND, gh, reviewed


def request(name: str, at_s: int, account: str = "lab/a", **given: Any) -> book.ShareRequest:
    filled: dict[str, Any] = {
        "cluster": "c",
        "pool": "",
        "share_percent": "70",
        "author": "bob",
        "reason": "a deadline",
    }
    return book.ShareRequest(request=name, account=account, occurred_us=at_s * 1_000_000, **filled | given)


def answers(store: Store, **given: Any) -> dict[str, tuple[Any, ...]]:
    rows = reviewed(store, **given).section("requests").records()
    return {str(row["request"]): (row["answer"], row["given_percent"], row["decided_at"]) for row in rows}


def test_requests_are_told_with_their_answers_and_while_they_are_open(store: Store):
    book.closed(store)
    store.write_directory(
        [],
        [
            request("R-1", FIRST + 60),
            request("R-2", FIRST - DAY_S),
            request("R-3", FIRST - DAY_S, reason="(odd) reason"),
            request("R-4", FIRST - DAY_S),
            request("R-5", END + 60),
            request("R-6", FIRST + 60, account="lab/b"),
            request("R-7", FIRST + 60, cluster="d"),
        ],
    )
    book.write(
        store,
        book.decision("share_decided", "lab/a", "approved at 62.5 percent (R-1)", SECOND, 5),
        book.decision("share_decided", "lab/a", "refused (R-2)", FIRST - 60, 6),
        book.decision("share_decided", "lab/a", "amended at 61 percent (R-3)", FIRST + 5, 7),
        book.decision("share_decided", "lab/a", "approved at 65 percent (R-3)", FIRST + 9, 8),
        book.decision("share_decided", "lab/b", "refused (R-6)", CLOSED + 60, 9),
    )
    expected = {
        "R-1": ("approved", "62.5", SECOND),
        "R-3": ("approved", "65", FIRST + 9),
        "R-4": ("open", None, None),
    }
    assert answers(store, account="lab/a") == expected
    assert answers(store) == expected | {"R-6": ("refused", None, CLOSED + 60)}
    then = answers(store, as_of=iso(SECOND))
    assert then == expected | {"R-6": ("open", None, None)}
    assert answers(store, known_at=iso(CLOSED)) == then
    assert answers(store, known_at=iso(CLOSED + 60)) == answers(store)


def changes(store: Store, **given: Any) -> list[tuple[Any, ...]]:
    rows = reviewed(store, **given).section("changes").records()
    return [(row["kind"], row["account"], row["change"], row["in_force_from"]) for row in rows]


def test_changes_are_told_in_the_order_they_were_entered(store: Store):
    book.closed(store)
    book.write(
        store,
        book.share("lab", 2, "a", "62.5", SECOND, recorded_s=FIRST + 60, seq=6),
        book.share("lab", 2, "b", "37.5", SECOND, recorded_s=FIRST + 60, seq=6),
        book.share("lab/a", 1, "x", "50", FIRST - 60, recorded_s=FIRST + 30, seq=5, backdated=True),
        book.share("lab/b", 1, "y", "50", FIRST - 60),
        book.make(
            book.Grant,
            cluster="c",
            pool="h100",
            account="lab/a",
            grant="G-1",
            amount_gpu_ms=gh(3),
            since_s=FIRST - DAY_S,
            until_s=SECOND,
            author="ada",
            recorded_s=FIRST - DAY_S,
            seq=2,
        ),
        book.decision("policy", "c", "window_h=24", FIRST + 90, 7),
        book.decision("policy", "c", "window_h=48", FIRST - 90, 3),
        book.decision("reassigned", "9/1", "to lab/a/x", FIRST + 95, 8),
        book.decision("grant", "lab/a", "3 GPU-hours of h100", FIRST + 96, 9),
        book.decision("reassigned", "9/2", "to lab/a/x", END, 10),
    )
    assert changes(store) == [
        ("grant", "lab/a", "G-1", FIRST - DAY_S),
        ("shares, back-dated", "lab/a", "revision 1: x 50 %", FIRST - 60),
        ("shares", "lab", "revision 2: a 60 → 62.5 %, b 40 → 37.5 %", SECOND),
        ("policy", "c", "window_h=24", None),
        ("reassigned", "9/1", "to lab/a/x", None),
    ]
    assert [kind for kind, *_ in changes(store, account="lab/b")] == ["shares", "policy"]


def line(child: str, percent: str, limit_milli: int = -1) -> ShareLine:
    return ShareLine("", "lab", 1, child, percent, limit_milli, 0, False, "ada", "", 0)


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        ([line("a", "40")], [line("a", "35")], "a 35 → 40 %"),
        ([line("a", "40"), line("b", "7.50")], [line("a", "40")], "b 7.5 %"),
        ([line("a", "40")], [line("a", "40"), line("b", "10")], "b 10 → nothing"),
        ([line("a", "40", 16_000)], [line("a", "40")], "a (at most 16 GPUs at once)"),
        ([line("a", "40")], [line("a", "30", 16_000)], "a 30 → 40 % without a limit on GPUs at once"),
        ([line("a", "100")], [line("a", "100")], "as before"),
        ([line("a", "100", 500)], [], "a 100 % (at most 0.5 GPUs at once)"),
    ],
)
def test_a_revision_is_told_by_what_it_changes(now: list[ShareLine], before: list[ShareLine], told: str):
    assert difference(now, before) == told


def test_what_was_refused_is_counted_by_reason(store: Store):
    book.closed(store)

    def letter(offset: int, at_s: int, **given: Any) -> Any:
        filled = {"cluster": "c", "reason": "stale_revision", "sentence": f"letter {offset}"}
        return book.letter(offset, recorded_us=at_s * 1_000_000, **filled | given)

    store.write_dead_letters(
        [
            letter(1, FIRST - 1),
            letter(2, SECOND),
            letter(3, CORRECTED),
            letter(4, CLOSED, reason="not_json", cluster=""),
            letter(5, CLOSED, cluster="d"),
        ]
    )
    assert reviewed(store).section("refused").rows == (
        ("stale_revision", 2, SECOND, CORRECTED, "letter 2"),
        ("not_json", 1, CLOSED, CLOSED, "letter 4"),
    )
