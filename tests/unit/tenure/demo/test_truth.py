"""What really happens in a demo is physically possible, and busy enough."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from ledger.units import DAY_S
from tenure.demo import Demo
from tenure.demo.chance import seeded
from tenure.demo.cluster import GPUS_PER_NODE, NODES
from tenure.demo.people import people
from tenure.demo.span import Span
from tenure.demo.tree import LEAVES, LIMITED_TEAM, SLOT_LIMIT_GPUS
from tenure.demo.truth import Attempt, Truth
from tenure.demo.workload import workload

POOL = {spec.name: spec.gpu_type for spec in NODES}
Interval = tuple[int, int]


def held(attempt: Attempt, ends_s: int) -> list[Interval]:
    """Stretches in which the attempt holds its GPUs."""
    found, since = [], attempt.started_s
    last = ends_s if attempt.ended_s is None else attempt.ended_s
    for stop in attempt.stops:
        if stop.releases_gpus:
            found.append((since, stop.since_s))
            since = last if stop.until_s is None else stop.until_s
    return [*found, (since, last)]


def by_gpu(demo: Demo) -> dict[tuple[str, int], list[Interval]]:
    intervals: dict[tuple[str, int], list[Interval]] = defaultdict(list)
    for attempt in demo.truth.attempts:
        for part in attempt.parts:
            for index in part.gpu_indices:
                intervals[part.node, index] += [i for i in held(attempt, demo.span.ends_s) if i[0] < i[1]]
    return intervals


def away(truth: Truth, ends_s: int) -> Iterator[tuple[str, Interval]]:
    """Stretches in which a node holds nothing."""
    since: dict[str, int] = {}
    for change in truth.nodes:
        if change.state in {"down", "planned_down", "removed"}:
            since.setdefault(change.node, change.at_s)
        elif change.node in since:
            yield change.node, (since.pop(change.node), change.at_s)
    for node, at_s in since.items():
        yield node, (at_s, ends_s)


@pytest.mark.parametrize("length", ["short", "week"])
def test_no_gpu_is_held_twice_at_any_instant(length: str, request: pytest.FixtureRequest):
    demo: Demo = request.getfixturevalue(length)
    for (_, index), intervals in by_gpu(demo).items():
        assert index < GPUS_PER_NODE
        assert all(a[1] <= b[0] for a, b in pairwise(sorted(intervals)))


@pytest.mark.parametrize("length", ["short", "week"])
def test_nothing_runs_on_a_node_that_is_away(length: str, request: pytest.FixtureRequest):
    demo: Demo = request.getfixturevalue(length)
    gone: dict[str, list[Interval]] = defaultdict(list)
    for node, interval in away(demo.truth, demo.span.ends_s):
        gone[node].append(interval)
    for (node, _), intervals in by_gpu(demo).items():
        assert not [(i, g) for i in intervals for g in gone[node] if i[0] < g[1] and g[0] < i[1]]


def test_gangs_are_whole_and_in_one_pool(week: Demo):
    for attempt in week.truth.attempts:
        ask = attempt.job.ask
        nodes = {part.node for part in attempt.parts}
        assert len(nodes) == len(attempt.parts) == ask.nodes
        assert all(len(set(part.gpu_indices)) == ask.gpus_per_node for part in attempt.parts)
        assert {POOL[node] for node in nodes} == {attempt.job.pool}


def test_attempts_of_a_job_follow_each_other_under_different_names(week: Demo):
    lineages: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in week.truth.attempts:
        lineages[attempt.job.number].append(attempt)
    for lineage in lineages.values():
        assert len({attempt.name for attempt in lineage}) == len(lineage)
        assert all(a.ended_s is not None and a.ended_s <= b.queued_s for a, b in pairwise(lineage))
        assert not any(attempt.final for attempt in lineage[:-1])
    assert max(map(len, lineages.values())) > 3


def test_contracts_are_kept_unless_a_node_or_a_person_says_otherwise(week: Demo):
    for attempt in week.truth.attempts:
        if attempt.job.funded and attempt.outcome == "preempted" and attempt.ended_s is not None:
            stood_s = sum((stop.until_s or attempt.ended_s) - stop.since_s for stop in attempt.stops)
            ran_s = attempt.ended_s - attempt.started_s - stood_s
            opened = [c.at_s for c in week.truth.nodes if c.state == "planned_down"]
            assert ran_s >= attempt.job.ask.min_runtime_s or attempt.ended_s in opened


def test_banked_funded_runs_are_preempted_now_and_then(week: Demo):
    ended = [a for a in week.truth.attempts if a.job.funded and a.ended_s is not None]
    preempted = sum(attempt.outcome == "preempted" for attempt in ended)
    assert 0.02 * len(ended) < preempted < 0.25 * len(ended)


def test_the_slot_limit_holds(week: Demo):
    edges: list[tuple[int, int]] = []
    for attempt in week.truth.attempts:
        if attempt.job.funded and attempt.job.ask.account == LIMITED_TEAM:
            end_s = week.span.ends_s if attempt.ended_s is None else attempt.ended_s
            edges += [(attempt.started_s, attempt.job.gpus), (end_s, -attempt.job.gpus)]
    running = 0
    for _, gpus in sorted(edges):
        running += gpus
        assert running <= SLOT_LIMIT_GPUS


def test_the_cluster_is_nearly_full(week: Demo):
    supply = 256 * week.span.days * DAY_S
    taken, unfunded = 0, 0
    for attempt in week.truth.attempts:
        gpu_s = attempt.job.gpus * sum(b - a for a, b in held(attempt, week.span.ends_s))
        taken += gpu_s
        unfunded += 0 if attempt.job.funded else gpu_s
    assert taken > 0.95 * supply
    assert 0.05 * supply < unfunded < 0.25 * supply


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_demand_is_two_to_three_times_supply(seed: int):
    jobs = workload(Span(30), people(seeded(seed, "people")), seeded(seed, "workload"))
    supply = 256 * 30 * DAY_S
    asked = sum(job.gpus * job.nature.work_s for job in jobs)
    funded = sum(job.gpus * job.nature.work_s for job in jobs if job.funded)
    assert 2 * supply < asked < 3 * supply
    assert 1.2 * supply < funded < 1.6 * supply


def test_a_hundred_and_fifty_people_in_fifteen_teams_have_their_own_names():
    everybody = people(seeded(4, "people"))
    assert len(everybody) == len({person.user for person in everybody}) == 150
    assert len({leaf.path for leaf in LEAVES if not leaf.path.endswith("/.")}) == 15
