"""The capacity book of one node: per instant, capacity + overbooked = occupied + (idle or unavailable)."""

import pytest

from ledger.capacity import Occupant, clear
from ledger.nodes import Stretch
from ledger.postings import Leg, Legs

UP = Stretch(0, 100, 4000, "available", "h100")


def held(a: int, b: int, milli: int, class_: str = "protected", run: str = "j/1", pool: str = "h100") -> Occupant:
    return Occupant(a, b, milli, class_, "lab/a", run, pool)


def sums(legs: Legs, pool: str = "h100") -> dict[str, int]:
    """By kind, classes of occupied and unavailable apart; every pool must clear."""
    found: dict[str, int] = {}
    for leg, amount in legs.items():
        assert (leg.book, leg.node) == ("capacity", "n")
        if leg.pool == pool:
            name = f"{leg.kind}:{leg.class_}" if leg.class_ else leg.kind
            found[name] = found.get(name, 0) + amount
    for each in {leg.pool for leg in legs}:
        assert sum(amount for leg, amount in legs.items() if leg.pool == each) == 0
    return found


def test_nothing_held_is_idle():
    assert sums(clear("n", [UP], [])) == {"capacity": -400_000, "idle": 400_000}


@pytest.mark.parametrize(
    ("state", "name"),
    [("draining", "unavailable:planned"), ("planned_down", "unavailable:planned"), ("down", "unavailable:unplanned")],
)
def test_nothing_held_on_an_unhealthy_node_is_unavailable(state: str, name: str):
    assert sums(clear("n", [UP._replace(state=state)], [])) == {"capacity": -400_000, name: 400_000}


def test_occupied_wins_over_idle_and_over_unavailable():
    down = Stretch(50, 100, 4000, "down", "h100")
    assert sums(clear("n", [UP._replace(b_s=50), down], [held(20, 80, 1000)])) == {
        "capacity": -400_000,
        "occupied:protected": 60_000,
        "idle": 200_000 - 30_000,
        "unavailable:unplanned": 200_000 - 30_000,
    }


def test_classes_and_runs_have_legs_of_their_own():
    legs = clear("n", [UP], [held(0, 50, 1000), held(50, 100, 1000, "interruptible"), held(0, 100, 500, run="k/1")])
    assert legs[Leg("h100", "capacity", "lab/a", "protected", "occupied", "n", "j/1")] == 50_000
    assert legs[Leg("h100", "capacity", "lab/a", "interruptible", "occupied", "n", "j/1")] == 50_000
    assert legs[Leg("h100", "capacity", "lab/a", "protected", "occupied", "n", "k/1")] == 50_000
    assert sums(legs)["idle"] == 250_000


def test_more_than_there_is_is_overbooked_at_that_instant_only():
    # 3 GPUs over [0, 60), 3 over [40, 100): 6 of 4 over [40, 60); on average it would fit.
    assert sums(clear("n", [UP], [held(0, 60, 3000), held(40, 100, 3000, run="k/1")])) == {
        "capacity": -400_000,
        "overbooked": -40_000,
        "occupied:protected": 360_000,
        "idle": 40_000 + 40_000,
    }


def test_a_run_exactly_as_large_as_the_node_leaves_nothing():
    assert sums(clear("n", [UP], [held(0, 100, 4000)])) == {"capacity": -400_000, "occupied:protected": 400_000}


def test_overbooked_on_a_node_that_is_down():
    down = UP._replace(state="down")
    assert sums(clear("n", [down], [held(0, 50, 6000)])) == {
        "capacity": -400_000,
        "overbooked": -100_000,
        "occupied:protected": 300_000,
        "unavailable:unplanned": 200_000,
    }


def test_a_node_nobody_spoke_of_is_overbooked_in_the_pool_of_each_run():
    nothing = Stretch(0, 100, 0, "", "")
    legs = clear("n", [nothing], [held(0, 100, 1000, pool="unknown"), held(50, 100, 500, run="k/1", pool="b200")])
    assert sums(legs, "unknown") == {"overbooked": -100_000, "occupied:protected": 100_000}
    assert sums(legs, "b200") == {"overbooked": -25_000, "occupied:protected": 25_000}
    assert clear("n", [nothing], []) == {}


def test_where_the_type_changes_each_part_is_in_its_pool():
    parts = [UP._replace(b_s=50), Stretch(50, 100, 8000, "available", "b200")]
    legs = clear("n", parts, [held(0, 100, 1000)])
    assert sums(legs, "h100") == {"capacity": -200_000, "occupied:protected": 50_000, "idle": 150_000}
    assert sums(legs, "b200") == {"capacity": -400_000, "occupied:protected": 50_000, "idle": 350_000}


def test_what_is_held_elsewhen_does_not_count():
    assert sums(clear("n", [UP], [held(100, 200, 9000), held(-50, 0, 9000, run="k/1")])) == {
        "capacity": -400_000,
        "idle": 400_000,
    }


def test_what_began_before_or_goes_on_counts_inside_only():
    assert sums(clear("n", [UP], [held(-50, 10, 1000), held(90, 500, 1000, run="k/1")]))["occupied:protected"] == 20_000


def test_a_node_without_capacity_that_fits_has_no_legs():
    assert clear("n", [UP._replace(gpus_milli=0)], []) == {}


def test_a_gap_between_two_runs_is_idle():
    legs = clear("n", [UP], [held(0, 30, 5000), held(60, 100, 5000, run="k/1")])
    assert sums(legs) == {
        "capacity": -400_000,
        "overbooked": -1000 * 70,
        "occupied:protected": 5000 * 70,
        "idle": 4000 * 30,
    }
