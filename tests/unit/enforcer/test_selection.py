"""The units that yield are the best there are: against every subset, on small states (P1, P2, P4, P6, P10)."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given, settings

from enforcer.candidates import field_of
from enforcer.rules import Rules
from enforcer.selection import exact, greedy
from enforcer.selection.problem import Problem
from enforcer.snapshot import Snapshot
from tests.unit.enforcer.states import snapshots

RULES = Rules()


def problem_of(snapshot: Snapshot) -> Problem:
    return field_of(snapshot.askers[0], snapshot, RULES).problem


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
