"""Whom an asker may choose from (POLICY §3), with the floors and the proportion of what is lost. Pure and exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Final

from enforcer.crowd import Crowd, shut
from enforcer.opening import INSIDE, Opened, Reclaim, opened, reclaim_of
from enforcer.rules import Rules
from enforcer.selection.problem import Cap, Choice, Problem
from enforcer.snapshot import Asker, Snapshot, Unit

CONTRACT: Final = "contract"
"""Why a unit is closed that is inside its minimum runtime; docs name the others, too."""


@dataclass(frozen=True, slots=True)
class Field:
    """All an asker may choose from: the problem, the rule that opens each unit, and how many are closed, by why."""

    problem: Problem
    rule: dict[str, str]
    closed: Counter[str]
    reclaim: Reclaim


def makes_no_room(asker: Asker, crowd: Crowd) -> bool:
    """Whether all that it could ever take would not make room: quick, and never true where a plan is possible."""
    if not crowd.has_room(asker, gain_gpu_ms(asker, crowd.rules)):
        return True
    if crowd.has_room(asker, None):
        return False
    reclaim = reclaim_of(asker, crowd.snapshot, crowd.rules)
    return not any(one.account for one in opened(asker, crowd, reclaim))


def field_of(asker: Asker, crowd: Crowd) -> Field:
    """The choices of an asker in rank order, with the caps of those taken from."""
    snapshot, rules = crowd.snapshot, crowd.rules
    reclaim = reclaim_of(asker, snapshot, rules)
    most = gain_gpu_ms(asker, rules)
    rule: dict[str, str] = {}
    closed = Counter({CONTRACT: crowd.bound, "own_account": len(crowd.of(asker.account)), "ratio": crowd.banked_funded})
    closed["ratio"] -= closed["own_account"]
    ranked: list[tuple[tuple[int, int, int, int, str], Choice]] = []
    caps: dict[tuple[str, str], set[str]] = {}
    for one in opened(asker, crowd, reclaim):
        units = crowd.of(one.account)
        if one.account:
            closed["own_account" if one.account == asker.account else "ratio"] -= len(units)
        for unit in units:
            why = _shut(unit, one, asker, rules, most)
            if why:
                closed[why] += 1
                continue
            rule[unit.name] = one.rule
            key = (one.class_, -crowd.order[one.side], unit.priority, -unit.started_s, unit.name)
            ranked.append((key, Choice(unit, one.class_)))
            if one.sides is not None:
                caps.setdefault(one.sides, set()).add(unit.name)
    choices = tuple(choice for _, choice in sorted(ranked, key=itemgetter(0)))
    problem = Problem(asker, snapshot.nodes, choices, tuple(_caps(caps, snapshot, rules)), most)
    return Field(problem, rule, +closed, reclaim)


def gain_gpu_ms(asker: Asker, rules: Rules) -> int:
    """The most that funded victims may lose for it."""
    part = rules.debug_proportion if asker.debug and rules.debug_lane else rules.proportion
    surely = asker.gpus_milli * max(asker.min_runtime_s, rules.least_gain_s)
    return surely * part.numerator // part.denominator


def _shut(unit: Unit, one: Opened, asker: Asker, rules: Rules, most_gpu_ms: int) -> str:
    if not one.account:
        return ""
    if one.rule == INSIDE and not asker.debug and asker.priority <= unit.priority:
        return "own_account"
    return shut(unit, rules, most_gpu_ms)


def _caps(units: dict[tuple[str, str], set[str]], snapshot: Snapshot, rules: Rules) -> Iterator[Cap]:
    """Floors: what may be taken from each child of a common ancestor, by the asker's side and its own."""
    healthy_milli = snapshot.healthy_milli
    for (mine, theirs), names in sorted(units.items()):
        if snapshot.running_milli.get(mine, 0) >= _floor_milli(mine, snapshot, rules, healthy_milli):
            above = snapshot.running_milli.get(theirs, 0) - _floor_milli(theirs, snapshot, rules, healthy_milli)
            yield Cap(theirs, frozenset(names), max(0, above))


def _floor_milli(account: str, snapshot: Snapshot, rules: Rules, healthy_milli: int) -> int:
    """Half an account's share of the healthy GPUs, rounded up."""
    floor = rules.floor * snapshot.shares.get(account, Fraction(0)) * healthy_milli
    return -(-floor.numerator // floor.denominator)
