"""The worked example of docs/accounting.md: its timeline is told, and its tables must be the book's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ledger.events import GrantMade
from ledger.rows import AccountHour, Posting
from tests.oracle.naive import ACCOUNT_COLUMNS, Naive
from tests.support.said import s
from tests.support.scenario import Timeline, play

HOUR_S = s("08:00")
POOL = "h100"

Table = list[list[str]]
Net = dict[tuple[str, ...], int]


@pytest.fixture
def section(root: Path) -> str:
    page = (root / "docs" / "accounting.md").read_text(encoding="utf-8")
    return page[page.index("## 7. A worked example") :]


@pytest.fixture
def tables(section: str) -> list[Table]:
    """The cells of each table, without its head."""
    found = re.findall(r"(?:^\|.*\|\n)+", section, flags=re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|\n").split("|")] for line in t.splitlines()[2:]] for t in found]


@pytest.fixture
def timeline(section: str) -> list[str]:
    return re.findall(r"^ {4}(\d\d:\d\d .*)$", section, flags=re.MULTILINE)


def told(lines: list[str]) -> Timeline:
    return play(["== example", *lines], "docs/accounting.md")["example"]


def number(text: str) -> int:
    return int(text.replace(",", "").replace("−", "-"))


def reckoned(text: str) -> Fraction:
    """The arithmetic of a cell, exactly: + − × / floor min max, with a word or two beside."""
    plain = re.sub(r"waiting|running", "", text).replace("×", "*").replace("−", "-")
    exact = re.sub(r"\d+\.\d+|\d+", lambda found: f"F('{found[0]}')", plain)
    assert re.fullmatch(r"[\dF.'()+*/, -]*", re.sub(r"floor|min|max", "", exact)), text
    return Fraction(eval(exact, {"F": Fraction, "floor": math.floor, "min": min, "max": max}))


def legs(table: Table, grant: str) -> Net:
    """The legs a table lists, its arithmetic reckoned again."""
    found: Net = {}
    for book, account, class_, kind, node, run, arithmetic, amount in table:
        assert reckoned(arithmetic) == number(amount), f"{arithmetic} is not {amount}"
        found[POOL, book, account, class_, kind, node, grant if run == "the grant" else run] = number(amount)
    assert len(found) == len(table)
    return found


def posted(now: Timeline) -> Iterator[tuple[bytes, Net]]:
    """Postings of the hour by cause, in the order they were made."""
    causes: dict[bytes, Net] = {}
    for row in now.book.tables[Posting].values():
        if row.hour_s == HOUR_S:
            leg = (row.pool, row.book, row.account, row.class_, row.kind, row.node, row.run)
            causes.setdefault(row.cause, {})[leg] = row.amount_gpu_ms
    yield from causes.items()


def test_the_postings_are_those_of_the_page(tables: list[Table], timeline: list[str]):
    now = told(timeline)
    grant = next(event.id for event in now.log if isinstance(event, GrantMade))
    closed, corrected = legs(tables[0], grant), legs(tables[1], grant)
    assert [net for _, net in posted(now)] == [closed, corrected]
    naive = Naive(now.book.accepted)
    total = {leg: closed.get(leg, 0) + corrected.get(leg, 0) for leg in closed | corrected}
    assert naive.postings(HOUR_S) == total
    before = Naive(told(timeline[:-1]).book.accepted)
    assert before.postings(HOUR_S) == closed


def test_each_transaction_of_the_page_sums_to_zero(tables: list[Table]):
    for table in tables[:2]:
        for book in ("capacity", "budget"):
            assert sum(number(row[-1]) for row in table if row[0] == book) == 0


def account_hours(table: Table, column: int) -> dict[str, dict[str, int]]:
    """The rows of an account table at (arithmetic, amount) from `column` on, unlisted columns zero."""
    found: dict[str, dict[str, int]] = {}
    for row in table:
        account, name, arithmetic, amount = row[0], row[1], row[column], row[column + 1]
        want = number(row[3]) if arithmetic == "the same" else reckoned(arithmetic)
        assert want == number(amount), f"{arithmetic} is not {amount}"
        found.setdefault(account, dict.fromkeys(ACCOUNT_COLUMNS, 0))[f"{name}_gpu_ms"] = number(amount)
    return found


def test_the_account_hours_are_those_of_the_page(tables: list[Table], timeline: list[str]):
    for lines, column in ((timeline[:-1], 2), (timeline, 4)):
        now, want = told(lines), account_hours(tables[2], column)
        rows: dict[str, Any] = {
            account: row
            for (hour, account, _), row in now.book.latest(AccountHour, "hour_s", "account", "pool").items()
            if hour == HOUR_S
        }
        assert {a: {name: getattr(r, name) for name in ACCOUNT_COLUMNS} for a, r in rows.items()} == want
        assert {a: r for (_, a), r in Naive(now.book.accepted).account_hours(HOUR_S).items()} == want


def test_every_column_of_a_funded_account_is_shown(tables: list[Table]):
    shown = [row[1] for row in tables[2] if row[0] == "lab/a/x"]
    assert [f"{name}_gpu_ms" for name in shown] == list(ACCOUNT_COLUMNS)


@pytest.mark.parametrize("wrong", ["1 +", "__import__('os')", "4000 x 3"])
def test_what_is_not_arithmetic_is_not_reckoned(wrong: str):
    with pytest.raises((AssertionError, SyntaxError)):
        reckoned(wrong)
