"""The units that yield are the best there are: against every subset, on small states (P1, P2, P4, P6, P10)."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given, settings

from enforcer.candidates import field_of, makes_no_room
from enforcer.classes import Class
from enforcer.crowd import Crowd
from enforcer.rules import Rules
from enforcer.selection import exact, general, greedy, nodewise
from enforcer.selection.problem import GPU_HOUR_MS, Choice, Problem
from enforcer.snapshot import Asker, Node, Snapshot, Unit
from tests.unit.enforcer.states import rule_seen, snapshots

RULES = Rules()


def problem_of(snapshot: Snapshot) -> Problem:
    return field_of(snapshot.askers[0], Crowd(snapshot, RULES)).problem


def best(problem: Problem) -> tuple[int, ...] | None:
    """The least objective over all subsets that make room within the bounds."""
    names = [choice.unit.name for choice in problem.choices]
    subsets = chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))
    found = [problem.objective(s) for s in map(set, subsets) if problem.fits(s) and problem.allows(s)]
    return min(found, default=None)


@settings(max_examples=2_000)
@given(snapshots(askers=1))
def test_the_objective_is_the_least_of_all_subsets(snapshot: Snapshot):
    problem = problem_of(snapshot)
    chosen = exact.solve(problem)
    assert (None if chosen is None else problem.objective(chosen)) == best(problem)


@settings(max_examples=300)
@given(snapshots(nodes=8, units=20, askers=1))
def test_both_ways_find_the_same(snapshot: Snapshot):
    """The quick way gives up or is right; the general one may not be asked for by a test of the whole."""
    problem = problem_of(snapshot)
    if problem.fits(()) or not problem.fits(problem.places):
        return
    slow = general.solve(problem)
    try:
        quick = nodewise.solve(problem, greedy.solve(problem))
    except nodewise.Undecided:
        return
    assert (None if quick is None else problem.objective(quick)) == (None if slow is None else problem.objective(slow))


@settings(max_examples=2_000)
@given(snapshots(askers=1))
def test_who_is_told_at_once_that_there_is_no_room_has_none(snapshot: Snapshot):
    crowd = Crowd(snapshot, RULES)
    asker = snapshot.askers[0]
    if makes_no_room(asker, crowd):
        assert best(field_of(asker, crowd).problem) is None


@settings(max_examples=2_000)
@given(snapshots(askers=1))
def test_what_is_open_is_what_the_policy_says(snapshot: Snapshot):
    """The walk over accounts, against each unit looked at alone."""
    asker = snapshot.askers[0]
    field = field_of(asker, Crowd(snapshot, RULES))
    assert field.rule == {u.name: rule for u in snapshot.units if (rule := rule_seen(u, asker, snapshot, RULES))}
    assert sum(field.closed.values()) + len(field.rule) == len(snapshot.units)


@settings(max_examples=2_000)
@given(snapshots(askers=1))
def test_no_unit_is_taken_that_is_not_needed_and_what_is_taken_is_enough(snapshot: Snapshot):
    problem = problem_of(snapshot)
    for solve in (exact.solve, greedy.solve):
        chosen = solve(problem)
        if chosen is not None:
            assert problem.fits(chosen)
            assert problem.allows(chosen)
            assert not any(problem.fits(chosen - {name}) for name in chosen)


@settings(max_examples=500)
@given(snapshots(askers=1))
def test_greedy_never_finds_what_the_optimum_does_not(snapshot: Snapshot):
    problem = problem_of(snapshot)
    quick, right = greedy.solve(problem), exact.solve(problem)
    if quick is not None:
        assert right is not None
        assert problem.objective(right) <= problem.objective(quick)


@settings(max_examples=500)
@given(snapshots(askers=1))
def test_the_asker_has_its_pieces_on_healthy_nodes_with_room(snapshot: Snapshot):
    problem = problem_of(snapshot)
    chosen = exact.solve(problem)
    if chosen is not None:
        freed, nodes = problem.freed(chosen), {node.name: node for node in problem.nodes}
        hosts = problem.hosts(chosen)
        assert sum(pieces for _, pieces in hosts) == problem.asker.pieces
        for name, pieces in hosts:
            assert nodes[name].usable
            assert pieces * problem.asker.piece_milli <= nodes[name].spare_milli + freed.get(name, 0)
            assert pieces == 1 or not problem.asker.apart


def test_losses_that_are_just_in_proportion_are_allowed():
    """POLICY §3 refuses what exceeds the bound. `over` and `small` together lose as much as they may, to the second."""

    def unit(name: str, milli: int, lost_h: int) -> Unit:
        return Unit(name, ((name, "1"),), "b", (("n", milli),), 0, 0, lost_h * GPU_HOUR_MS)

    problem = Problem(
        Asker("j", "a", 1, 8_000, 3600, 0),
        (Node("n", 8_000, 0),),
        (
            Choice(unit("large", 4_000, 3), Class.OVER),
            Choice(unit("over", 4_000, 2), Class.OVER),
            Choice(unit("small", 4_000, 2), Class.OVER),
        ),
        (),
        4 * GPU_HOUR_MS,
    )
    assert problem.allows({"over", "small"})
    assert exact.solve(problem) == frozenset({"over", "small"})
    assert general.solve(problem) == frozenset({"over", "small"})


def test_losses_that_are_just_in_proportion_are_allowed_where_the_quick_way_gives_up():
    """The least of rank breaks the bound, so HiGHS is asked; the only choice within it meets the bound exactly."""

    def unit(name: str, milli: int, lost_h: int) -> Unit:
        return Unit(name, ((name, "1"),), "b", (("n", milli),), 0, 0, lost_h * GPU_HOUR_MS)

    problem = Problem(
        Asker("j", "a", 1, 8_000, 3600, 0),
        (Node("n", 8_000, 0),),
        (
            Choice(unit("one", 8_000, 5), Class.OVER),
            Choice(unit("two", 4_000, 2), Class.WITHIN),
            Choice(unit("three", 4_000, 2), Class.WITHIN),
        ),
        (),
        4 * GPU_HOUR_MS,
    )
    assert best(problem) is not None
    assert exact.solve(problem) == frozenset({"two", "three"})
