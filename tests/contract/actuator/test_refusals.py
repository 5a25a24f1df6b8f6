"""What an interface does not offer is refused by name, before anything is done."""

from __future__ import annotations

from enforcer.orders import ACCEPTED, REFUSED, RUNNING
from tests.contract.actuator.worlds import World, only


@only("slurm_rest", "kubernetes_pods", "kubernetes_kueue", "beaker")
def test_nodes_are_not_held(world: World) -> None:
    outcome, handle = world.actuator.hold(world.ask())
    assert (outcome.name, handle) == (REFUSED, "")
    assert "hold" in outcome.sentence or "held" in outcome.sentence
    assert world.actuator.release(handle).name == ACCEPTED


@only("slurm_rest")
def test_slurmrestd_requeues_nothing(world: World) -> None:
    order = world.run(how="requeue")
    for outcome in (world.actuator.preempt(order), world.actuator.kill(order)):
        assert outcome.name == REFUSED
        assert "slurm_cli" in outcome.sentence
    assert world.actuator.left(order).name == RUNNING
    assert world.told(order) == 0


@only("kubernetes_kueue", "beaker")
def test_who_has_a_grace_of_its_own_is_not_made_to_hurry(world: World) -> None:
    order = world.run(stubborn=True)
    assert world.actuator.preempt(order).name == ACCEPTED
    outcome = world.actuator.kill(order)
    assert outcome.name == REFUSED
    assert "grace period" in outcome.sentence
    assert world.actuator.left(order).name == RUNNING
