"""From registers to runs as they are booked. Seconds are small on purpose."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.jobs import JobFacts
from ledger.runs import (
    DerivedRun,
    Piece,
    contract_end,
    derive,
    funding,
    ran_s,
    remaining_contract_s,
)
from ledger.statements import Full, Terms, Toggle
from ledger.tree import ShareTree
from ledger.units import FOREVER_S, HOUR_S
from tests.support.world import FUNDED, TREE, World, job, stamped


def only(facts: JobFacts, world: World | None = None) -> DerivedRun:
    (run,) = derive(facts, world or World())
    return run


# ---------------------------------------------------------------------- pieces and contract


def test_protected_then_interruptible():
    run = only(job(starts={"1": 50}, ends={"1": 200}))
    assert run.pieces == (Piece(50, 150, "protected"), Piece(150, 200, "interruptible"))
    assert (run.contract_end_s, run.account, run.funded, run.reason) == (150, "lab/a", True, "")


@pytest.mark.parametrize(("end", "last"), [(150, Piece(50, 150, "protected")), (149, Piece(50, 149, "protected"))])
def test_a_run_that_ends_at_its_contract_is_never_interruptible(end: int, last: Piece):
    assert only(job(starts={"1": 50}, ends={"1": end})).pieces == (last,)


def test_pauses_are_cut_out_and_move_the_contract():
    toggles = ((60, True, False), (90, False, False), (120, True, True), (130, False, False))
    run = only(job(starts={"1": 50}, ends={"1": 300}, toggles=toggles))
    assert run.pieces == (
        Piece(50, 60, "protected"),
        Piece(60, 90, "suspended"),  # 10 s are banked
        Piece(90, 120, "protected"),  # 40 s
        # 120 to 130 the GPUs are released: nothing is held
        Piece(130, 190, "protected"),  # 100 s
        Piece(190, 300, "interruptible"),
    )
    assert run.contract_end_s == 190
    assert run.pauses == ((60, 90, False), (120, 130, True))


def test_a_pause_behind_the_contract_does_not_move_it():
    run = only(job(starts={"1": 50}, ends={"1": 300}, toggles=((150, True, False), (160, False, False))))
    assert run.contract_end_s == 150


def test_an_open_pause_lasts():
    run = only(job(starts={"1": 50}, toggles=((60, True, False), (70, True, True))))
    assert run.pieces == (Piece(50, 60, "protected"), Piece(60, FOREVER_S, "suspended"))
    assert run.contract_end_s == FOREVER_S
    ended = only(job(starts={"1": 50}, ends={"1": 80}, toggles=((60, True, False),)))
    assert ended.pieces == (Piece(50, 60, "protected"), Piece(60, 80, "suspended"))


def test_a_resume_without_a_pause_has_no_effect():
    run = only(job(starts={"1": 50}, ends={"1": 80}, toggles=((60, False, False),)))
    assert run.pieces == (Piece(50, 80, "protected"),)


def test_pauses_outside_the_run_are_cut_off():
    run = only(
        job(starts={"1": 50}, ends={"1": 80}, toggles=((40, True, False), (55, False, False), (75, True, False)))
    )
    assert run.pauses == ((50, 55, False), (75, 80, False))


def test_an_unfunded_run_has_one_class_and_no_contract():
    run = only(job(starts={"1": 50}, ends={"1": 200}, terms=FUNDED._replace(min_runtime_s=0)))
    assert run.pieces == (Piece(50, 200, "unfunded"),)
    assert (run.contract_end_s, run.reason) == (50, "no_min_runtime")


@pytest.mark.parametrize(
    ("pauses", "end"),
    [
        ((), 110),
        (((10, 20, False),), 120),
        (((109, 120, False),), 121),
        (((110, 120, True),), 110),
        (((5, 20, True),), 125),
    ],
)
def test_the_contract_end(pauses: tuple[tuple[int, int, bool], ...], end: int):
    # A pause that began before the start is cut by then; (5, 20) shows what the arithmetic does with it.
    assert contract_end(10, pauses, 100) == end


# ---------------------------------------------------------------------- full statements


def observed(*, pauses: tuple[Any, ...] = (), suspended: int = 0, ended: int | None = None, at: int = 500) -> JobFacts:
    facts = JobFacts("j")
    told = Full(at, "s", "f", at, FUNDED, None, None, 50, ended, (("n", 1000, ()),), pauses, suspended, "failed", 9)
    facts.attempt("1").put_full(told._replace(time_us=at * 1_000_000))
    return facts


def test_pauses_of_a_full_statement_are_read_one_after_the_other():
    run = only(observed(pauses=((60, 90, True), (80, 100, False), (110, None, False)), ended=200))
    assert run.pauses == ((60, 90, True), (90, 100, False), (110, 200, False))
    assert (run.outcome, run.exit_code) == ("failed", 9)


def test_pauses_that_begin_together_are_read_in_the_order_they_were_told():
    facts = observed(pauses=((60, 90, False), (60, 70, True)), ended=200, at=60)
    facts.attempt("1").toggles = [stamped(Toggle, 61, True, True), stamped(Toggle, 100, False, False)]
    assert only(facts).pauses == ((60, 90, False), (90, 100, True))


def test_what_a_full_statement_leaves_open_a_later_resume_closes():
    facts = observed(pauses=((60, None, True),), ended=200, at=100)
    facts.attempt("1").toggles = [stamped(Toggle, 150, False, False)]
    assert only(facts).pauses == ((60, 150, True),)


@pytest.mark.parametrize(
    ("ended", "pause"), [(200, (140, 200, False)), (80, (50, 80, False)), (None, (440, 500, False))]
)
def test_a_bare_total_is_placed_before_the_end_and_flagged(ended: int | None, pause: tuple[int, int, bool]):
    run = only(observed(suspended=60, ended=ended))
    assert (run.pauses, run.flags) == ((pause,), ("suspension_placed",))


# ---------------------------------------------------------------------- attempts and ends


def test_attempts_stand_by_start_then_name():
    runs = derive(job(starts={"b": 50, "a": 50, "0": 90}), World())
    assert [(run.attempt, run.ordinal, run.run) for run in runs] == [("a", 1, "j/a"), ("b", 2, "j/b"), ("0", 3, "j/0")]


def test_an_attempt_without_a_start_is_no_run():
    assert derive(job(starts={}, ends={"1": 100}), World()) == ()


def test_an_end_before_the_start_makes_an_empty_run():
    run = only(job(starts={"1": 50}, ends={"1": 40}))
    assert (run.start_s, run.end_s, run.pieces, run.flags) == (50, 50, (), ("end_before_start",))


@pytest.mark.parametrize(
    ("job_ends", "ends"),
    [
        (((70, "failed"),), [70, FOREVER_S]),
        (((100, "failed"),), [FOREVER_S, 100]),  # the second one runs by then
        (((40, "failed"),), [FOREVER_S, FOREVER_S]),  # before any of them
        (((60, "failed"), (80, "timeout"), (120, "failed")), [80, 120]),  # the greatest while each runs
    ],
)
def test_an_end_of_the_job_ends_the_attempt_running_then(job_ends: tuple[tuple[int, str], ...], ends: list[int]):
    runs = derive(job(starts={"1": 50, "2": 100}, job_ends=job_ends), World())
    assert [run.end_s for run in runs] == ends


def test_an_end_of_its_own_is_stronger():
    run = only(job(starts={"1": 50}, ends={"1": 60}, job_ends=((90, "failed"),)))
    assert (run.end_s, run.outcome) == (60, "succeeded")


def test_attempts_that_hold_a_node_at_once():
    def pairs(**told: Any) -> dict[tuple[str, str], str]:
        return job(**told).overlaps()

    assert pairs(starts={"1": 50, "2": 80}, ends={"1": 90}) == {("1", "2"): "n"}
    assert pairs(starts={"1": 50, "2": 80}, ends={"2": 90}) == {("1", "2"): "n"}
    assert pairs(starts={"1": 50, "2": 80}, ends={"1": 80}) == {}
    assert pairs(starts={"1": 50, "2": 80}) == {}  # the end of the first may be on its way
    assert pairs(starts={"1": 50, "2": 80}, ends={"2": 80}) == {}  # the second held nothing
    both = {"starts": {"1": 50, "2": 60, "3": 70}, "ends": {"1": 90, "2": 90, "3": 90}}
    assert pairs(**both, on=(("b", 1), ("a", 1))) == {("1", "2"): "a", ("1", "3"): "a", ("2", "3"): "a"}


# ---------------------------------------------------------------------- funding


@pytest.mark.parametrize(
    ("account", "min_runtime_s", "booked", "reason"),
    [
        ("lab/a", 100, "lab/a", ""),
        ("lab", 100, "lab/.", ""),
        ("lab/.", 100, "lab/.", ""),
        ("", 100, "", "no_account"),
        ("", 0, "", "no_account"),
        ("lab/a", 0, "lab/a", "no_min_runtime"),
        ("ghost", 0, "ghost", "no_min_runtime"),
        ("lab/a", 8 * HOUR_S, "lab/a", ""),
        ("lab/a", 8 * HOUR_S + 1, "lab/a", "min_runtime_over_maximum"),
        ("ghost", 100, "ghost", "unknown_account"),
        ("lab/z", 100, "lab/z", "zero_share"),
        ("guest", 100, "guest", ""),
        ("lab/zz", 100, "lab/zz", ""),
    ],
)
def test_funding(account: str, min_runtime_s: int, booked: str, reason: str):
    world = World(grants={("h100", "guest"), ("h100", "lab/zz")})
    terms = Terms(account=account, min_runtime_s=min_runtime_s)
    assert funding(terms, ("h100",), 0, world) == (booked, reason)


def test_all_pools_of_a_run_must_fund_it():
    world = World(trees={"h100": TREE, "b200": ShareTree({"lab/a": Fraction(0)}, frozenset(), {})})
    terms = Terms(account="lab/a", min_runtime_s=1)
    assert funding(terms, ("h100", "b200"), 0, world) == ("lab/a", "zero_share")
    assert funding(terms, ("h100", "gtx"), 0, world) == ("lab/a", "unknown_account")
    assert funding(terms, ("b200", "gtx"), 0, world) == ("lab/a", "unknown_account")
    world.grants = {("b200", "lab/a")}
    assert funding(terms, ("h100", "b200"), 0, world) == ("lab/a", "")


def test_an_account_that_is_interior_in_any_pool_is_its_own_part():
    world = World(trees={"h100": TREE, "b200": ShareTree({"lab": Fraction(1)}, frozenset(), {})})
    assert funding(Terms(account="lab", min_runtime_s=1), ("b200", "h100"), 0, world) == ("lab", "unknown_account")
    world.grants = {("b200", "lab/.")}
    assert funding(Terms(account="lab", min_runtime_s=1), ("b200", "h100"), 0, world) == ("lab/.", "")


def test_a_reassigned_run_has_the_other_account():
    facts = job(starts={"1": 50}, terms=FUNDED._replace(account=""))
    assert only(facts).reason == "no_account"
    facts.attempt("1").reassigned = "lab/a"
    assert (only(facts).reason, only(facts).account) == ("", "lab/a")


# ---------------------------------------------------------------------- pools


def test_the_pool_is_that_of_the_node_at_the_start():
    world = World(types={"n": ((10, "b200"), (40, "h100"))})
    assert (only(job(starts={"1": 50}), world).pools, only(job(starts={"1": 50}), world).pool) == (("h100",), "h100")
    assert only(job(starts={"1": 5}, ends={"1": 40}), world).pools == ("b200",)  # before its first word: that one


def test_pools_that_change_under_a_run_depend_on_the_instant():
    world = World(types={"n": ((0, "h100"), (60, "b200"))})
    run = only(job(starts={"1": 50}, ends={"1": 61}), world)
    assert (run.mixed, run.pools, run.pool) == (True, (), "h100")
    assert not only(job(starts={"1": 50}, ends={"1": 60}), world).mixed
    assert not only(job(starts={"1": 60}, ends={"1": 90}), world).mixed


def test_a_node_nobody_spoke_of_has_the_type_that_was_asked_for():
    on = (("ghost", 500), ("n", 1000))
    run = only(job(starts={"1": 50}, on=on))
    assert (run.pools, run.pool, run.flags, run.gpus_milli) == (("unknown", "h100"), "unknown", ("unknown_node",), 1500)
    assert run.reason == "unknown_account"
    asked = only(job(starts={"1": 50}, on=on, terms=FUNDED._replace(gpu_type="h100")))
    assert (asked.pools, asked.reason) == (("h100", "h100"), "")


# ---------------------------------------------------------------------- refunds


@pytest.mark.parametrize(
    ("checkpoints", "since"),
    [
        ([], 20_000 - 4 * HOUR_S),
        ([19_000], 19_000),
        ([100, 19_000, 20_001], 19_000),  # one after the end is none
        ([100], 20_000 - 4 * HOUR_S),
        ([20_000], 20_000),
    ],
)
def test_a_refund_goes_back_to_the_checkpoint_or_four_hours(checkpoints: list[int], since: int):
    facts = job(starts={"1": 50}, ends={"1": 20_000}, outcome="node_failure")
    facts.attempt("1").checkpoints_s = checkpoints
    assert only(facts).refund_from_s == since


def test_four_hours_are_of_running():
    toggles = ((10_000, True, False), (12_000, False, False))
    run = only(job(starts={"1": 50}, ends={"1": 20_000}, outcome="node_failure", toggles=toggles))
    assert run.refund_from_s == 20_000 - 4 * HOUR_S - 2_000
    late = ((19_000, True, True), (20_000, False, False))
    run = only(job(starts={"1": 50}, ends={"1": 20_000}, outcome="node_failure", toggles=late))
    assert run.refund_from_s == 19_000 - 4 * HOUR_S
    assert only(job(starts={"1": 50}, ends={"1": 200}, outcome="node_failure")).refund_from_s == 50


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "preempted", "requeued"])
def test_nothing_else_is_refunded(outcome: str):
    assert only(job(starts={"1": 50}, ends={"1": 200}, outcome=outcome)).refund_from_s == FOREVER_S


def test_an_unfunded_run_is_not_refunded():
    facts = job(starts={"1": 50}, ends={"1": 200}, outcome="node_failure", terms=Terms())
    assert only(facts).refund_from_s == FOREVER_S


# ---------------------------------------------------------------------- what is left


def test_running_time_and_contract_left():
    run = only(job(starts={"1": 50}, ends={"1": 300}, toggles=((60, True, False), (90, False, False))))
    assert [ran_s(run, at) for at in (50, 55, 60, 75, 90, 100, 300)] == [0, 5, 10, 10, 10, 20, 220]
    assert [remaining_contract_s(run, at) for at in (50, 51, 60, 90, 100, 180, 200)] == [0, 99, 90, 90, 80, 0, 0]


def test_nothing_is_left_of_a_contract_while_the_gpus_are_released_or_after_the_end():
    run = only(job(starts={"1": 50}, ends={"1": 100}, toggles=((60, True, True), (90, False, False))))
    assert [remaining_contract_s(run, at) for at in (59, 60, 89, 90, 99, 100)] == [91, 0, 0, 90, 81, 0]
    assert remaining_contract_s(only(job(starts={"1": 50}, terms=Terms())), 60) == 0
