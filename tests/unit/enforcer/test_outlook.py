"""When a job that waits could get a plan at the earliest, by time alone."""

from __future__ import annotations

from typing import Any

from enforcer.gates import Refusal
from enforcer.outlook import MOST_ENDS, Earliest, earliest
from enforcer.plan import Plan
from ledger.facts import FactsHash, decode, encode
from ledger.units import HOUR_S
from tests.support.folded import folded
from tests.support.said import checkpointed, ended, grant, node, opens, s, shares, started, submitted, tick

SHAPE = {"nodes": 1, "gpus_per_node_milli": 4000}
SET_UP: list[Any] = [opens("08:00"), node("08:00", "n", 4), shares("08:00", "lab", {"a": 50, "b": 50})]


def ask(at: str = "09:00", name: str = "ask", **more: Any) -> Any:
    terms: dict[str, Any] = {"account": "lab/a", "gpus": 4, "shape": SHAPE, "min_runtime_s": 3600}
    return submitted(at, name, **(terms | more))


def holds(name: str, *, gpus: int = 4, **more: Any) -> list[Any]:
    terms: dict[str, Any] = {"account": "lab/b", "gpus": gpus, "resumable": True} | more
    runs = [submitted("08:00", name, **terms), started("08:00", name, on={"n": gpus})]
    return [*runs, checkpointed("09:00", name)]


def seen(*log: Any, job: str = "ask") -> Earliest | None:
    told = folded([*SET_UP, *log])
    assert not told.refused
    return earliest(lambda: decode(encode(told.book.state)), "h100", job)


def victims(found: Earliest | None) -> list[str]:
    assert found is not None
    assert isinstance(found.found, Plan)
    return [victim.unit.name for victim in found.found.victims]


def assert_never_by_time(found: Earliest | None, gate: str) -> None:
    assert found is not None
    assert found.by_s is None
    assert isinstance(found.found, Refusal)
    assert found.found.gate == gate


def test_a_run_yields_once_its_minimum_runtime_is_banked():
    found = seen(*holds("j", min_runtime_s=2 * HOUR_S), ask(), tick("09:05"))
    assert victims(found) == ["j/1"]
    assert found is not None
    assert (found.by_s, found.at_once) == (s("10:00"), True)
    assert s("09:05") <= found.after_s < s("10:00")


def test_its_own_delay_is_over_at_its_instant():
    found = seen(*holds("j", min_runtime_s=0), ask(), tick("09:00:30"))
    assert found is not None
    assert (found.after_s, found.by_s, found.at_once) == (s("09:00:30"), s("09:01"), True)


def test_where_those_ahead_are_in_the_way_it_would_have_a_plan_at_once():
    log = [*holds("j", min_runtime_s=0), ask(), ask("09:01", "second"), tick("09:05")]
    found = seen(*log, job="second")
    assert found is not None
    assert found.by_s == found.after_s == s("09:05")


def test_use_and_claim_go_on_until_the_ratio_lets_it():
    """t hours after 08:00, ρ of b is 2 and that of a with its contract 16 / 2t: from 12:06 on it is below by 0.05."""
    found = seen(*holds("j", min_runtime_s=60), ask(min_runtime_s=4 * HOUR_S), tick("09:05"))
    assert victims(found) == ["j/1"]
    assert found is not None
    assert (found.after_s, found.by_s, found.at_once) == (s("12:05"), s("13:05"), False)


def test_work_that_is_never_saved_is_lost_more_and_more():
    small = [submitted("08:00", "j", account="lab/b", gpus=4), started("08:00", "j", on={"n": 4})]
    assert_never_by_time(seen(*small, ask(), tick("09:30")), "G2")


def test_a_grant_that_is_to_begin_lets_it_ask():
    log = [
        *holds("j", min_runtime_s=0),
        ask(account="lab/new"),
        grant("09:00", "lab/new", 144_000_000, "11:00", "20:00"),
    ]
    found = seen(*log, tick("09:05"))
    assert victims(found) == ["j/1"]
    assert found is not None
    assert found.by_s == s("11:00")


def test_time_alone_does_not_help_a_job_that_is_too_large():
    assert_never_by_time(seen(*holds("j", min_runtime_s=0), ask(min_runtime_s=9 * HOUR_S), tick("09:05")), "G1")


def test_a_job_that_fits_is_told_so():
    found = seen(*holds("j", min_runtime_s=0), ended("09:01", "j"), ask(), tick("09:05"))
    assert found is not None
    assert isinstance(found.found, Refusal)
    assert found.found.name == "fits"


def test_who_does_not_wait_has_no_outlook():
    assert seen(*holds("j", min_runtime_s=0), tick("09:05"), job="j") is None


def test_of_many_ends_the_one_that_helps_is_found():
    several = [one for n in range(40) for one in _small(n)]
    nodes = [node("08:00", f"m{n}", 1) for n in range(40)]
    log = [*nodes, *several, *holds("j", min_runtime_s=2 * HOUR_S), ask(), tick("09:05")]
    found = seen(*log)
    assert len(several) // 2 > MOST_ENDS
    assert found is not None
    assert (found.by_s, found.at_once) == (s("10:00"), True)


def test_an_end_at_the_instant_that_is_not_what_helps_is_not_given_as_exact():
    """ρ lets it take `j` from 10:38 on, between two looks; at the second `o` has just banked, and is chosen."""
    other = [
        submitted("08:00", "o", account="lab/b", gpus=4, min_runtime_s=3 * HOUR_S, resumable=True, priority=-5),
        started("08:00", "o", on={"m": 4}),
        checkpointed("09:00", "o"),
    ]
    log = [node("08:00", "m", 4), *other, *holds("j", min_runtime_s=60), ask(min_runtime_s=11 * HOUR_S // 2)]
    found = seen(*log, tick("09:05"))
    assert victims(found) == ["o/1"]
    assert found is not None
    assert (found.by_s, found.at_once) == (s("11:00"), False)


def _small(n: int) -> list[Any]:
    terms: dict[str, Any] = {"account": "lab/b", "gpus": 1, "min_runtime_s": HOUR_S * 3 // 2 + 300 * n}
    return [submitted("08:00", f"s{n}", **terms), started("08:00", f"s{n}", on={f"m{n}": 1})]


def test_the_book_it_is_asked_about_can_be_a_copy():
    told = folded([*SET_UP, *holds("j", min_runtime_s=2 * HOUR_S), ask(), tick("09:05")])
    before = FactsHash(told.book.state).value
    earliest(lambda: decode(encode(told.book.state)), "h100", "ask")
    assert FactsHash(told.book.state).value == before
