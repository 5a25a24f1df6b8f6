"""What a play begins with, where it is not plain: who ran, waited or was held before, and how far back that goes.

One node of 8 GPUs, on which every run holds all of it.
"""

from collections.abc import Callable
from typing import Any

import pytest

from enforcer.whatif import beginning
from enforcer.whatif.cluster import Cluster
from enforcer.whatif.compare import WITH, WITHOUT, Unplayable, WhatIf, what_if
from enforcer.whatif.past import read
from ledger.book import Book
from ledger.facts import decode, encode
from ledger.state import State
from ledger.units import GPU_HOUR_MS, HOUR_S
from tenure.played import figure_rows
from tests.support.said import (
    CLUSTER,
    ended,
    node,
    opens,
    run,
    s,
    shares,
    started,
    submitted,
    tick,
    updated,
)

FUNDED: dict[str, Any] = {"gpus": 8, "account": "lab/a"}
UNFUNDED: dict[str, Any] = {"gpus": 8, "account": None, "min_runtime_s": 0, "resumable": True}
ALL: dict[str, float] = {"n": 8}
SHARED = shares("day 0 12:00", "lab", {"a": 50, "b": 50})


def folded(*events: Any, until: str = "18:05") -> State:
    book = Book(CLUSTER)
    for event in (*events, tick(until)):
        book.apply(event, s(until))
        book.take()
    return book.state


def told(*events: Any) -> State:
    return folded(opens("08:00"), SHARED, node("08:00", gpus=8), *events)


def begun_book(state: State, since: str = "09:00") -> State:
    """The book of a play as it begins."""
    return beginning.begun(state, read(state, s(since), s(since) + HOUR_S), "enforce", 600).book.state


def hours(found: WhatIf, side: str = WITHOUT) -> float:
    """How long the node was in use."""
    return found.sides[side].pools["h100"].occupied / (8 * GPU_HOUR_MS)


def test_a_run_of_which_nobody_said_how_it_ended():
    state = told(
        submitted("08:00", **FUNDED),
        run("09:00", start="08:00", end="09:00", on=ALL, outcome=None),
        started("12:00", attempt="2", on=ALL),
        ended("13:00", attempt="2"),
    )
    assert hours(what_if(state, s("10:00"), s("18:00"))) == 1


def test_a_run_that_began_before_the_horizon_still_holds_its_node():
    """`u` runs from day 1 to the end; the book keeps a day. `f` asks on day 3, and `u`, unfunded, has to yield."""
    state = folded(
        opens("08:00", horizon_h=24, window_h=24),
        SHARED,
        node("08:00", gpus=8),
        submitted("08:00", "u", **UNFUNDED),
        started("08:00", "u", on=ALL),
        *(tick(f"day {day} {hour:02}:10") for day in (1, 2, 3) for hour in range(9 if day == 1 else 0, 24)),
        submitted("day 3 12:00", "f", min_runtime_s=2 * HOUR_S, **FUNDED),
        until="day 4 00:10",
    )
    found = what_if(state, s("day 3 10:00"), s("day 4 00:00"))
    assert hours(found) == 14
    assert [plan.job for plan in found.plans] == ["f"]
    assert found.sides[WITH].waits["funded batch"].never == 0
    assert begun_book(state, "day 3 10:00").horizon_s == state.horizon_s == s("day 3 00:00")


def test_who_gave_up_waiting_gives_up_in_the_play_too():
    """`u` runs as the span begins, was requeued at 11:00 and withdrawn at 12:00; with enforcement it waits by 10:11."""
    state = told(
        submitted("08:00", "u", **UNFUNDED),
        started("08:00", "u", on=ALL),
        ended("11:00", "u", outcome="requeued"),
        ended("12:00", "u", attempt=None, outcome="cancelled"),
        submitted("10:00", "f", **FUNDED),
        started("11:00", "f", on=ALL),
        ended("14:00", "f"),
    )
    unfunded = what_if(state, s("09:00"), s("18:00")).sides[WITH].accounts["h100", ""].unfunded
    assert unfunded <= 8 * GPU_HOUR_MS * 5 // 4  # 09:00 to 10:10:30, and nothing after f


BEFORE = [
    submitted("08:00", resumable=True, **FUNDED),
    started("08:00", on=ALL),
    ended("08:30", outcome="requeued"),
    updated("08:30", held=True),
]
AGAIN = [started("13:00", attempt="2", on=ALL), ended("14:00", attempt="2")]


@pytest.mark.parametrize(
    ("then", "by_noon", "used"),
    [
        ([], 0, 0),
        ([updated("12:00", held=False), *AGAIN], 0, 1),
        ([updated("08:50", held=False), *AGAIN], 1, 1),
    ],
    ids=["never released", "released in the span", "released before it"],
)
def test_what_is_held_is_neither_started_nor_owed(then: list[Any], by_noon: int, used: int):
    """Requeued and held before the span: from its release on it is played, and fits at once."""
    for until, expected in (("12:00", by_noon), ("18:00", used)):
        found = what_if(told(*BEFORE, *then), s("09:00"), s(until))
        for side in (WITHOUT, WITH):
            assert hours(found, side) == expected
            assert sum(line.owed for line in found.sides[side].accounts.values()) == expected * 4 * GPU_HOUR_MS
        assert found.plans == ()


def test_what_the_held_used_before_the_span_counts():
    assert [run.end_s for run in begun_book(told(*BEFORE)).read("j").runs] == [s("08:30")]


def test_what_failed_and_was_submitted_again_starts_again():
    """Half an hour it had held before, of the hour and a half it needed in sum."""
    again = [submitted("08:40", **FUNDED), started("13:00", attempt="2", on=ALL), ended("14:00", attempt="2")]
    failed = [submitted("08:00", **FUNDED), started("08:00", on=ALL), ended("08:30", outcome="failed")]
    assert hours(what_if(told(*failed, *again), s("09:00"), s("18:00"))) == 1


def test_facts_that_are_read_back_give_the_same_bytes():
    """A run on an unknown node had ended before: its pool's hours are corrected to nothing, and read back gone."""
    state = folded(
        opens("08:00"),
        SHARED,
        node("08:00", gpus=8),
        submitted("08:00", **UNFUNDED),
        started("08:00", on={"untold": 8}),
        tick("12:05"),
        ended("08:10", outcome="failed"),
    )
    assert [name for name in state.hours[s("10:00")] if name != "h100"], "or there is nothing to leave out"
    kept, again = (figure_rows(what_if(one, s("09:00"), s("18:00")), 0) for one in (state, decode(encode(state))))
    assert kept == again


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets the book of a play refuse something of a source."""

    def refuse(source: str) -> None:
        def begun(*given: Any) -> Cluster:
            cluster = beginning.begun(*given)
            cluster.refused.append((source, "it is too late"))
            return cluster

        monkeypatch.setattr("enforcer.whatif.compare.begun", begun)

    return refuse


def test_a_play_that_lacks_something_of_what_happened_is_none(refusing: Callable[[str], None]):
    refusing("play")
    with pytest.raises(Unplayable, match=r"did not take 1 of what happened in it, first: it is too late"):
        what_if(told(*BEFORE), s("09:00"), s("18:00"))


def test_an_act_may_be_refused(refusing: Callable[[str], None]):
    refusing("tenure/enforcer")
    what_if(told(*BEFORE), s("09:00"), s("18:00"))
