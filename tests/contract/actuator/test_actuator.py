"""What the enforcer relies on, whatever the scheduler is."""

from __future__ import annotations

import time
from dataclasses import replace

from deploy.processes import until
from enforcer.orders import ACCEPTED, GONE, LEFT, REFUSED, RUNNING, UNREACHABLE, Order
from tests.contract.actuator.worlds import HOLDS, KILLS, REQUEUES, RESTARTS, SHOWS_WHY, World, needs


def leaves(world: World, order: Order, within_s: float = 15.0) -> bool:
    return until(lambda: world.actuator.left(order).name == LEFT, within_s)


def test_a_run_leaves_when_it_is_told(world: World) -> None:
    order = world.run()
    assert world.actuator.left(order).name == RUNNING
    assert world.actuator.preempt(order).name == ACCEPTED
    assert leaves(world, order)


@needs(REQUEUES)
def test_a_resumable_run_is_requeued_and_runs_again(world: World) -> None:
    order = world.run(how="requeue")
    assert world.actuator.preempt(order).name == ACCEPTED
    assert leaves(world, order)
    assert world.runs(order.job)
    assert world.actuator.left(order).name == LEFT, "the next attempt is another run"
    assert world.actuator.preempt(order).name == GONE
    assert world.actuator.kill(order).name == GONE
    assert world.runs(order.job), "and nothing was done to it"


def test_cancelled_twice_is_cancelled_once(world: World) -> None:
    order = world.run(stubborn=True)
    assert world.actuator.preempt(order).name == ACCEPTED
    assert world.actuator.preempt(order).name == ACCEPTED
    assert world.told(order) == 1


@needs(REQUEUES)
def test_requeued_twice_is_requeued_once(world: World) -> None:
    order = world.run(how="requeue")
    assert world.actuator.preempt(order).name == ACCEPTED
    assert world.actuator.preempt(order).name in {ACCEPTED, GONE}
    assert leaves(world, order)
    assert world.actuator.preempt(order).name == GONE
    assert world.told(order) == 1


@needs(RESTARTS, KILLS)
def test_told_again_after_both_sides_restarted_is_told_once(world: World) -> None:
    order = world.run(stubborn=True)
    assert world.actuator.preempt(order).name == ACCEPTED
    world.restart()
    assert world.actuator.left(order).name == RUNNING
    assert world.actuator.preempt(order).name == ACCEPTED
    assert world.told(order) == 1
    assert world.actuator.kill(order).name == ACCEPTED
    assert leaves(world, order)


def test_a_run_that_ended_by_itself_is_gone(world: World) -> None:
    order = world.run()
    world.end(order)
    for how in ("cancel", "requeue"):
        ended = replace(order, how=how)
        assert world.actuator.preempt(ended).name == GONE
        assert world.actuator.kill(ended).name == GONE
        assert world.actuator.left(ended).name == LEFT
    assert not world.runs(order.job, within_s=2), "and it was not begun anew"


def test_an_unknown_run_is_gone(world: World) -> None:
    order = replace(world.run(), job="99999999")
    outcome = world.actuator.preempt(order)
    assert outcome.name == GONE
    assert "99999999" in outcome.sentence
    assert world.actuator.left(order).name == LEFT


def test_another_attempt_is_not_touched(world: World) -> None:
    order = world.run()
    other = replace(order, attempt="1")
    assert world.actuator.preempt(other).name == GONE
    assert world.actuator.kill(other).name == GONE
    assert world.actuator.left(order).name == RUNNING


@needs(KILLS)
def test_a_stubborn_run_runs_until_it_is_killed(world: World) -> None:
    order = world.run(stubborn=True)
    assert world.actuator.preempt(order).name == ACCEPTED
    time.sleep(1)
    assert world.actuator.left(order).name == RUNNING
    assert world.actuator.kill(order).name == ACCEPTED
    assert leaves(world, order)


@needs(KILLS)
def test_without_a_grace_it_is_cancelled_at_once(world: World) -> None:
    order = world.run(grace_s=0, stubborn=True)
    assert world.actuator.preempt(order).name == ACCEPTED
    assert leaves(world, order)


def test_a_refusal_says_why(world: World) -> None:
    order = world.unwilling()
    outcome = world.actuator.preempt(order)
    assert outcome.name == REFUSED
    assert len(outcome.sentence) > 20
    assert world.actuator.left(order).name == RUNNING


@needs(SHOWS_WHY)
def test_the_user_is_shown_why(world: World) -> None:
    order = world.run(stubborn=True)
    world.actuator.preempt(order)
    assert order.why in world.why(order)


def test_who_does_not_answer_is_unreachable(world: World) -> None:
    order = world.run()
    with world.away():
        outcome = world.actuator.preempt(order)
        assert outcome.name == UNREACHABLE
        assert len(outcome.sentence) > 20
    assert world.actuator.left(order).name == RUNNING


@needs(HOLDS)
def test_held_nodes_are_the_askers(world: World) -> None:
    hold = world.ask()
    outcome, handle = world.actuator.hold(hold)
    assert (outcome.name, bool(handle)) == (ACCEPTED, True)
    assert world.actuator.hold(hold) == (outcome, handle), "once is as often"

    competitor = world.compete()
    world.make_room(hold)

    assert world.runs(hold.asker_job)
    assert not world.runs(competitor, within_s=3)
    for _ in range(2):
        assert world.actuator.release(handle).name == ACCEPTED
    assert world.runs(hold.asker_job), "released, it runs on"


@needs(HOLDS)
def test_a_hold_released_before_lets_others_in(world: World) -> None:
    hold = world.ask()
    _, handle = world.actuator.hold(hold)
    competitor = world.compete()
    assert world.actuator.release(handle).name == ACCEPTED
    world.make_room(hold)
    anybody = (competitor, hold.asker_job)
    assert until(lambda: any(world.runs(job, within_s=0) for job in anybody), 20), "nobody is kept out for nothing"


@needs(HOLDS, RESTARTS)
def test_a_hold_outlives_a_restart(world: World) -> None:
    hold = world.ask()
    _, handle = world.actuator.hold(hold)
    competitor = world.compete()
    world.restart()
    world.make_room(hold)
    assert world.runs(hold.asker_job)
    assert not world.runs(competitor, within_s=2)
    assert world.actuator.release(handle).name == ACCEPTED


@needs(HOLDS)
def test_nothing_is_held_for_who_does_not_wait(world: World) -> None:
    hold = replace(world.ask(), asker_job="99999999")
    outcome, handle = world.actuator.hold(hold)
    assert (outcome.name, handle) == (GONE, "")


@needs(HOLDS)
def test_a_hold_of_unknown_nodes_is_refused_and_leaves_nothing(world: World) -> None:
    hold = replace(world.ask(), nodes=(("nonesuch", 8000),))
    outcome, handle = world.actuator.hold(hold)
    assert (outcome.name, handle) == (REFUSED, "")


def test_releasing_what_was_never_held_is_no_trouble(world: World) -> None:
    for handle in ("", "tenure_000000000000"):
        assert world.actuator.release(handle).name == ACCEPTED
