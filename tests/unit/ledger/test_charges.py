"""What one run adds to its account: charged, refunded, unfunded, commitment."""

from typing import Any

import pytest

from ledger.charges import run_lines
from ledger.hours import CHARGED, COMMITMENT, REFUNDED, UNFUNDED
from ledger.runs import DerivedRun, derive
from ledger.statements import Terms
from tests.support.world import FUNDED, World, job

Lines = dict[tuple[str, int], int]


def derived(world: World | None = None, **told: Any) -> DerivedRun:
    (run,) = derive(job(**told), world or World())
    return run


def lines(run: DerivedRun, a: int, b: int, world: World | None = None) -> Lines:
    found = run_lines(run, a, b, (world or World()).node_types)
    assert len({(pool, what) for pool, what, _ in found}) == len(found), "one line for each pool and field"
    return {(pool, what): amount for pool, what, amount in found}


def test_all_of_a_funded_run_is_charged_protected_or_not():
    run = derived(starts={"1": 50}, ends={"1": 250})  # protected until 150
    assert lines(run, 0, 300) == {("h100", CHARGED): 200_000}
    assert lines(run, 0, 100) == {("h100", CHARGED): 50_000, ("h100", COMMITMENT): 50_000}
    assert lines(run, 100, 200) == {("h100", CHARGED): 100_000}
    assert lines(run, 250, 300) == {}
    assert lines(run, 0, 50) == {}


def test_pauses_are_not_charged_and_keep_the_commitment():
    kept = derived(starts={"1": 50}, ends={"1": 250}, toggles=((60, True, False), (120, False, False)))
    assert lines(kept, 0, 100) == {("h100", CHARGED): 10_000, ("h100", COMMITMENT): 90_000}
    assert lines(kept, 100, 200) == {("h100", CHARGED): 80_000, ("h100", COMMITMENT): 10_000}
    released = derived(starts={"1": 50}, ends={"1": 250}, toggles=((60, True, True), (120, False, False)))
    assert lines(released, 0, 100) == {("h100", CHARGED): 10_000}
    assert lines(released, 60, 100) == {}


def test_a_contract_that_ends_on_the_hour_commits_nothing_behind_it():
    assert ("h100", COMMITMENT) not in lines(derived(starts={"1": 0}), 0, 100)
    assert lines(derived(starts={"1": 1}), 0, 100)["h100", COMMITMENT] == 1000


def test_a_run_that_starts_or_ends_on_the_hour_commits_nothing_at_it():
    assert lines(derived(starts={"1": 100}), 0, 100) == {}
    assert lines(derived(starts={"1": 50}, ends={"1": 100}), 0, 100) == {("h100", CHARGED): 50_000}


def test_an_open_pause_holds_up_the_contract():
    run = derived(starts={"1": 50}, toggles=((60, True, False),))
    assert lines(run, 1000, 1100) == {("h100", COMMITMENT): 90_000}


def test_unfunded_time_is_no_charge():
    run = derived(starts={"1": 50}, ends={"1": 250}, terms=Terms(account="lab/a"))
    assert lines(run, 0, 100) == {("h100", UNFUNDED): 50_000}


def test_what_a_failed_node_took_comes_back_in_the_hours_it_was_charged_in():
    facts = job(starts={"1": 50}, ends={"1": 250}, outcome="node_failure")
    facts.attempt("1").checkpoints_s = [80]
    (run,) = derive(facts, World())
    assert lines(run, 0, 100) == {
        ("h100", CHARGED): 50_000,
        ("h100", REFUNDED): 20_000,
        ("h100", COMMITMENT): 50_000,
    }
    assert lines(run, 100, 200) == {("h100", CHARGED): 100_000, ("h100", REFUNDED): 100_000}
    assert lines(run, 0, 80) == {("h100", CHARGED): 30_000, ("h100", COMMITMENT): 70_000}


def test_nodes_of_one_pool_are_summed_and_pools_kept_apart():
    world = World(types={"n": ((0, "h100"),), "m": ((0, "h100"),), "o": ((0, "b200"),)})
    world.trees["b200"] = world.trees["h100"]
    run = derived(world, starts={"1": 50}, on=(("m", 500), ("n", 1000), ("o", 2000)))
    assert lines(run, 0, 100) == {
        ("h100", CHARGED): 75_000,
        ("b200", CHARGED): 100_000,
        ("h100", COMMITMENT): 75_000,
        ("b200", COMMITMENT): 100_000,
    }


@pytest.fixture
def changing() -> World:
    """Node n becomes a b200 at 80; ghost is known to nobody."""
    world = World(types={"n": ((0, "h100"), (80, "b200"))})
    world.trees["b200"] = world.trees["gtx"] = world.trees["h100"]
    return world


def test_where_the_type_changes_under_a_run_each_part_is_in_its_pool(changing: World):
    run = derived(changing, starts={"1": 50}, ends={"1": 250})
    assert lines(run, 0, 100, changing) == {
        ("h100", CHARGED): 30_000,
        ("b200", CHARGED): 20_000,
        ("b200", COMMITMENT): 50_000,
    }
    assert lines(run, 0, 70, changing) == {("h100", CHARGED): 20_000, ("h100", COMMITMENT): 80_000}


def test_a_node_nobody_spoke_of_stays_in_the_pool_that_was_asked_for(changing: World):
    terms = FUNDED._replace(gpu_type="gtx")
    run = derived(changing, starts={"1": 50}, ends={"1": 250}, terms=terms, on=(("ghost", 500), ("n", 1000)))
    assert run.mixed
    assert lines(run, 0, 90, changing) == {
        ("gtx", CHARGED): 20_000,
        ("h100", CHARGED): 30_000,
        ("b200", CHARGED): 10_000,
        ("gtx", COMMITMENT): 30_000,
        ("b200", COMMITMENT): 60_000,
    }
