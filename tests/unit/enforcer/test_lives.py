"""Random clusters played on for half a day: what must hold of every order; restarts and repeats change nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ledger.book import Book
from ledger.facts import FactsHash, decode, encode
from ledger.outcomes import Applied, Repeated
from ledger.units import GPU_MILLI, HOUR_S
from tests.support.enforcing import CLUSTER, START_S, Work, World

SEEDS = range(40)
HALF_A_DAY_S = 12 * HOUR_S
HALFWAY_S = START_S + HALF_A_DAY_S // 2


class Disturbed(World):
    """Its worker dies again and again, and the log holds every act three times."""

    dice = random.Random(0)

    def fold(self, event: Any) -> Applied | None:
        if self.dice.random() < 0.05:
            book = Book(CLUSTER)
            book.resume(decode(encode(self.book.state)))
            self.book = book
        outcome = super().fold(event)
        if event.source == "tenure/enforcer" and outcome is not None:
            for _ in range(2):
                assert self.book.apply(event, self.now_s) == Repeated()
        return outcome


def life(world: World, seed: int) -> World:
    """The same cluster for the same seed."""
    dice = random.Random(seed)
    world.say("policy.set", author="ann", enforcement=dice.choice(("enforce", "enforce", "observe")), grace_s=60)
    for n in range(dice.randint(1, 3)):
        world.add_node(f"n{n}", dice.choice((4, 8)))
    shares = [{"child": "a", "share_percent": 50}, {"child": "b", "share_percent": 30}]
    world.say("shares.set", author="ann", parent="lab", children=shares, expected_revision=0)
    works = [work(dice, f"j{n}") for n in range(dice.randint(5, 12))]
    if dice.random() < 0.4:
        world.thief = ("n0", 1)
    world.play_on(HALFWAY_S, [w for w in works if START_S + w.from_s < HALFWAY_S])
    maintained(world, random.Random(1_000 + seed))
    if dice.random() < 0.5:
        world.add_node("n0", world.sizes["n0"] // GPU_MILLI, dice.choice(("draining", "down")))
    world.play_on(START_S + HALF_A_DAY_S, [w for w in works if START_S + w.from_s >= HALFWAY_S])
    return world


def maintained(world: World, dice: random.Random) -> None:
    """Windows on some of the nodes, planned halfway."""
    for n in range(dice.choice((0, 0, 1, 2))):
        since_s = HALFWAY_S + dice.randint(600, 5 * HOUR_S)
        world.maintain(f"w{n}", dice.choice(list(world.sizes)), since_s, since_s + dice.randint(600, 4 * HOUR_S))


def work(dice: random.Random, name: str) -> Work:
    return Work(
        name,
        dice.choice(("lab/a", "lab/b", "lab/b", "lab/c")),
        dice.choice((1, 1, 1, 2)),
        dice.choice((1, 2, 4, 8)) * GPU_MILLI,
        dice.choice((0, 0, 600, 3600, 4 * 3600)),
        resumable=dice.random() < 0.5,
        checkpoint_s=dice.choice((0, 1800)),
        left_s=dice.randint(600, 30 * HOUR_S),
        from_s=dice.choice((0, 0, dice.randint(0, HALF_A_DAY_S - 1))),
        leaves_s=dice.choice((1, 10, 50, 500)),
        stays=dice.random() < 0.1,
        kind=dice.choice(("batch", "batch", "debug")),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_every_order_of_a_life(seed: int):
    """P4, P5, P11, P12: nobody inside a contract, nobody twice, each by a plan with its reasons."""
    world = life(World(), seed)
    state = world.book.state
    assert world.refused == []
    ordered: dict[tuple[str, str], str] = {}
    for act in world.acts:
        data = act.data
        match act.type:
            case "tenure.preemption.issued.v1":
                run = next(r for r in state.read(data.job).runs if r.attempt == data.attempt)
                at_s = act.time.timestamp()
                assert not run.funded or run.contract_end_s <= at_s
                assert run.start_s <= at_s < run.end_s
                before = ordered.setdefault((data.job, data.attempt), data.plan)
                assert before == data.plan or state.acts.plans[before].settled[data.job, data.attempt].outcome in {
                    "timed_out",
                    "refused",
                }
                ordered[data.job, data.attempt] = data.plan
                assert state.acts.plans[data.plan].enforces
            case "tenure.plan.committed.v1":
                assert data.sentences
                assert data.victims
                at_s = int(data.at.timestamp())
                hosts = {room.node for room in data.hosts}
                assert at_s <= HALFWAY_S or not any(
                    node in hosts and since_s - 8 * HOUR_S <= at_s < until_s for node, since_s, until_s in world.windows
                )
            case "tenure.capacity.held.v1":
                plan = state.acts.plans[data.plan]
                assert all(one.outcome not in {"timed_out", "refused"} for one in plan.settled.values())
            case _:
                pass
    for plan in state.acts.plans.values():
        assert set(plan.settled) <= set(plan.issued) <= {v.run for v in plan.made.victims}
        assert plan.expired is None or set(plan.settled) == set(plan.issued)


@pytest.mark.parametrize("seed", SEEDS)
def test_restarts_and_repeats_change_nothing(seed: int):
    """P13."""
    clean, disturbed = life(World(), seed), life(Disturbed(), seed)
    assert [act.model_dump() for act in disturbed.acts] == [act.model_dump() for act in clean.acts]
    assert FactsHash(disturbed.book.state).value == FactsHash(clean.book.state).value


CONTRACT_S = 2 * HOUR_S


def constant_demand(seed: int) -> World:
    """Endless work that saves itself and is wanted all the time, twice as much as there is room for."""
    dice = random.Random(seed)
    world = World(look_s=1800)
    world.say("policy.set", author="ann", enforcement="enforce")
    world.add_node("n0", 8)
    world.add_node("n1", 8)
    shares = [{"child": "a", "share_percent": dice.choice((40, 50, 70))}, {"child": "b", "share_percent": 30}]
    world.say("shares.set", author="ann", parent="lab", children=shares, expected_revision=0)
    for n in range(8):
        gpus, pieces = dice.choice((2, 4, 8)), dice.choice((1, 1, 2))
        account = ("lab/a", "lab/b")[n % 2]
        world.submit(Work(f"j{n}", account, pieces, gpus * 1000, CONTRACT_S, resumable=True, checkpoint_s=1800))
    world.play(START_S + 48 * HOUR_S)
    return world


@pytest.mark.parametrize("seed", range(6))
def test_constant_demand_does_not_swap_to_and_fro(seed: int):
    """P3: nobody takes back what it yielded within the contract of who has it, and little work is lost."""
    world = constant_demand(seed)
    began: dict[str, tuple[float, str]] = {}
    swaps: dict[str, int] = {}
    for act in world.acts:
        if act.type == "tenure.plan.committed.v1":
            asker, at_s = act.data.asker.job, act.time.timestamp()
            for victim in act.data.victims:
                since_s, whose = began.get(victim.job, (0.0, ""))
                assert whose != asker or at_s >= since_s + CONTRACT_S
                began[asker] = at_s, victim.job
            for room in act.data.hosts:
                swaps[room.node] = swaps.get(room.node, 0) + 1
    assert all(number <= 48 * HOUR_S // CONTRACT_S * 8 for number in swaps.values())  # a swap a GPU and contract
    assert sum(world.lost_gpu_s.values()) * 10 <= sum(world.ran_gpu_s.values())
    assert world.refused == []


def test_constant_demand_does_swap():
    assert sum(sum(constant_demand(seed).preempted.values()) for seed in range(4)) > 0


def test_lives_are_worth_looking_at():
    acts: dict[str, int] = {}
    windows = 0
    for seed in SEEDS:
        for act in life(World(), seed).acts:
            windows += "is in maintenance" in getattr(act.data, "sentences", ("",))[0]
            kinds = (act.type, getattr(act.data, "outcome", ""), getattr(act.data, "why", ""))
            name = "/".join(kind for kind in kinds if kind).removeprefix("tenure.")
            acts[name] = acts.get(name, 0) + 1
    assert {
        "preemption.settled.v1/preempted",
        "preemption.settled.v1/timed_out",
        "plan.expired.v1/asker_started",
        "plan.expired.v1/refused",
        "plan.expired.v1/drained",
        "plan.expired.v1/observed",
        "capacity.held.v1",
    } <= set(acts), acts
    assert windows > 3
