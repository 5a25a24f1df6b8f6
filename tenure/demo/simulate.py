"""From submissions and troubles to what really happened."""

from __future__ import annotations

from functools import partial

from tenure.demo.chance import Chance
from tenure.demo.cluster import POOLS, Troubles
from tenure.demo.incidents import Incidents
from tenure.demo.jobs import Job
from tenure.demo.reviews import claims_over_time
from tenure.demo.scheduler import Scheduler
from tenure.demo.span import Span
from tenure.demo.tree import Claims
from tenure.demo.truth import Truth
from tenure.demo.world import World


def simulate(span: Span, jobs: tuple[Job, ...], troubles: Troubles, chance: Chance) -> Truth:
    """Run the cluster over the span. No node ever holds more than its GPUs, and gangs start and end whole."""
    (_, opening), *revised = claims_over_time(span)
    world = World(span, opening, chance)
    for pool in POOLS:
        for machine in world.machines[pool]:
            world.change(machine, "available")
    Scheduler(world)
    Incidents(world, troubles.incidents)
    for at_s, claims in revised:
        world.later(at_s, partial(_revise, world, claims))
    for job in jobs:
        world.later(job.submit_s, partial(world.submit, job))
    world.run_until(span.ends_s)
    return Truth(
        jobs,
        tuple(sorted(world.attempts, key=lambda a: (a.started_s, a.job.number))),
        tuple(world.requeues),
        tuple(world.cancelled),
        tuple(world.changes),
    )


def _revise(world: World, claims: Claims) -> None:
    for fairness in world.fairness.values():
        fairness.claims = claims
