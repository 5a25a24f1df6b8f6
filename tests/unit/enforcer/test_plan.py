"""What holds for every plan (POLICY §6), on random small states."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.classes import Class
from enforcer.gates import FITS, Refusal
from enforcer.plan import Plan, plan, plan_for
from enforcer.rules import Rules
from enforcer.snapshot import Snapshot
from tests.unit.enforcer.states import NOW_S, class_seen, snapshots

RULES = Rules()
STATES = settings(max_examples=2_000)


def made(snapshot: Snapshot) -> tuple[Plan, ...]:
    return plan(snapshot, RULES)[0]


@STATES
@given(snapshots())
def test_lower_classes_go_first(snapshot: Snapshot):
    """P1: nobody of a class yields where the lower ones suffice, and nobody inside a contract ever."""
    found = plan_for(snapshot.askers[0], snapshot, RULES)
    if isinstance(found, Plan) and found.victims:
        highest = max(victim.class_ for victim in found.victims)
        lower = tuple(u for u in snapshot.units if class_seen(u, found.asker, snapshot, RULES.hysteresis) < highest)
        alone = plan_for(found.asker, replace(snapshot, units=lower), RULES)
        inside = {v.unit.name for v in found.victims if v.rule == "inside"}
        assert highest < Class.CONTRACT
        if highest == Class.WITHIN and not inside:
            assert isinstance(alone, Refusal), (found, alone)


@STATES
@given(snapshots())
def test_nothing_funded_yields_before_its_contracts_end(snapshot: Snapshot):
    """P5."""
    for it in made(snapshot):
        for victim in it.victims:
            assert not victim.unit.account or victim.unit.contract_end_s <= NOW_S


@STATES
@given(snapshots())
def test_the_asker_fits_and_needed_it(snapshot: Snapshot):
    """P6, P9, P12: it did not fit before, it fits after, on usable nodes; what one plan promises no other uses."""
    nodes = {node.name: node for node in snapshot.nodes}
    room = {node.name: node.spare_milli for node in snapshot.nodes}
    plans, refused = plan(snapshot, RULES)
    fitting = {it.job for it in refused if it.gate == FITS}
    assert not fitting & {it.asker.job for it in plans}
    for it in plans:
        assert it.victims
        for victim in it.victims:
            for name, milli in victim.unit.placements:
                room[name] += milli
        if not fitting:
            for name, pieces in it.hosts:
                assert nodes[name].usable
                room[name] -= pieces * it.asker.piece_milli
                assert room[name] >= 0
        assert sum(pieces for _, pieces in it.hosts) == it.asker.pieces


@STATES
@given(snapshots())
def test_nobody_yields_twice_and_units_are_whole(snapshot: Snapshot):
    """P4."""
    units = {unit.name: unit for unit in snapshot.units}
    yielded = [victim.unit for it in made(snapshot) for victim in it.victims]
    assert len({unit.name for unit in yielded}) == len(yielded)
    assert all(units[unit.name] == unit for unit in yielded)


@STATES
@given(snapshots(), st.integers(0, 1_000))
def test_the_same_state_gives_the_same_plan(snapshot: Snapshot, seed: int):
    """P8: also where nodes and units are told in another order."""
    dice = random.Random(seed)
    nodes, units = list(snapshot.nodes), list(snapshot.units)
    dice.shuffle(nodes)
    dice.shuffle(units)
    again = plan(replace(snapshot, nodes=tuple(nodes), units=tuple(units)), RULES)
    assert repr(again) == repr(plan(snapshot, RULES))


@STATES
@given(snapshots())
def test_floors_and_proportion_hold(snapshot: Snapshot):
    """P10, for the first plan, whose state is the one given."""
    found = plan_for(snapshot.askers[0], snapshot, RULES)
    if not isinstance(found, Plan):
        return
    funded = [victim for victim in found.victims if victim.class_ > Class.UNFUNDED]
    gain = found.asker.gpus_milli * max(found.asker.min_runtime_s, 3600) // 2
    assert sum(victim.unit.lost_gpu_ms for victim in funded) <= gain
    for victim in funded:
        assert victim.unit.preempted_today < 3
        if victim.rule != "inside":
            taken = sum(other.unit.gpus_milli for other in funded if other.side == victim.side)
            mine = next(a for a in found.before if not victim.side.startswith(f"{a[0]}/"))[0]
            poor = snapshot.running_milli.get(mine, 0) < snapshot.shares[mine] * snapshot.healthy_milli / 2
            left = snapshot.running_milli[victim.side] - taken
            assert poor or left >= snapshot.shares[victim.side] * snapshot.healthy_milli / 2


@STATES
@given(snapshots(), st.sampled_from(["a", "b", "c"]))
def test_raising_a_share_never_lowers_a_class(snapshot: Snapshot, account: str):
    """P14: a larger claim makes nobody of that account easier to take from."""
    raised = dict(snapshot.ratios)
    for name, ratio in snapshot.ratios.items():
        if name == account or name.startswith(f"{account}/"):
            raised[name] = replace(ratio, claim_gpu_ms=2 * ratio.claim_gpu_ms)
    richer = replace(snapshot, ratios=raised)
    asker, h = snapshot.askers[0], RULES.hysteresis
    for unit in snapshot.units:
        if unit.account == account or unit.account.startswith(f"{account}/"):
            assert class_seen(unit, asker, richer, h) >= class_seen(unit, asker, snapshot, h)


@STATES
@given(snapshots())
def test_every_plan_explains_itself(snapshot: Snapshot):
    """P11: each victim, its rule and its ratio, each ρ before and after, and where it then fits."""
    from enforcer.explain import sentences

    for it in made(snapshot):
        told = "\n".join(sentences(it))
        assert all(victim.unit.name in told for victim in it.victims)
        assert all(name in told for name, _ in it.hosts)
        assert all(account in told for account, _ in it.after)


@settings(max_examples=300)
@given(snapshots())
def test_who_asks_for_the_same_gets_the_same_answer(snapshot: Snapshot):
    """What is known of one asker is used for the next: the answer must be that of looking anew."""
    asker = snapshot.askers[0]
    alone = plan_for(asker, snapshot, RULES)
    if isinstance(alone, Refusal) and alone.name != "fits":
        again = replace(asker, job=f"{asker.job} again")
        _, (first, second) = plan(replace(snapshot, askers=(asker, again)), RULES)
        assert (first, second) == (alone, replace(alone, job=again.job))


@settings(max_examples=1_000)
@given(snapshots(askers=4))
def test_a_short_look_finds_the_same(snapshot: Snapshot):
    """With a bound on plans the same are made, and the same gates shut, in fewer words."""
    plans, refused = plan(snapshot, RULES)
    short, brief = plan(snapshot, RULES, len(snapshot.askers))
    assert short == plans
    assert [(one.job, one.gate, one.name) for one in brief] == [(one.job, one.gate, one.name) for one in refused]


@settings(max_examples=1_000)
@given(snapshots(askers=4), st.integers(0, 3))
def test_a_look_at_one_asker_finds_the_same_of_it(snapshot: Snapshot, place: int):
    """And of those before it, in fewer words; nobody after it is looked at."""
    asker = snapshot.askers[place % len(snapshot.askers)]
    plans, refused = plan(snapshot, RULES)
    some, others = plan(snapshot, RULES, until=asker.job)
    assert some == plans[: len(some)]
    assert [one for one in others if one.job == asker.job] == [one for one in refused if one.job == asker.job]
    jobs = [one.job for one in snapshot.askers]
    assert {p.asker.job for p in some} | {r.job for r in others} == set(jobs[: jobs.index(asker.job) + 1])
