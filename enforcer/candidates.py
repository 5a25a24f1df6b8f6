"""Whom a rule lets an asker take from (POLICY §3): R0 to R3, floor and proportion. Pure and exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from enforcer.classes import Class, beats, below_common, class_of, exceeds, with_contract
from enforcer.rules import Rules
from enforcer.selection.problem import Cap, Choice, Problem
from enforcer.snapshot import Asker, Snapshot, Unit
from ledger.ranking import Ratio
from ledger.tree import lineage

FREE: Final = "R0"
RECLAIM: Final = "R1"
REBALANCE: Final = "R2"
DEBUG_LANE: Final = "R3"
INSIDE: Final = "inside"


class Reclaim(NamedTuple):
    """Whether R1 holds: ρ with the new contract by account, over how many windows, and the first that is above 1."""

    path: tuple[tuple[str, Ratio, Fraction], ...]
    above: str | None

    @property
    def holds(self) -> bool:
        """Every account of the path stays within its claim."""
        return self.above is None


@dataclass(frozen=True, slots=True)
class Field:
    """All an asker may choose from: the problem, the rule that opens each unit, and why others are closed."""

    problem: Problem
    rule: dict[str, str]
    closed: dict[str, str]
    reclaim: Reclaim


def field_of(asker: Asker, snapshot: Snapshot, rules: Rules) -> Field:
    """The choices of an asker in rank order, with the caps of those taken from."""
    reclaim = _reclaim(asker, snapshot, rules)
    rule: dict[str, str] = {}
    closed: dict[str, str] = {}
    choices: list[Choice] = []
    for unit in snapshot.units:
        class_ = class_of(unit, asker, snapshot, rules.hysteresis)
        opened, why = _open(unit, class_, asker, snapshot, rules, reclaim)
        if opened:
            rule[unit.name] = opened
            inside = unit.account == asker.account and class_ == Class.WITHIN
            choices.append(Choice(unit, Class.OVER if inside else class_))
        else:
            closed[unit.name] = why
    choices.sort(key=lambda c: _rank(c, asker, snapshot))
    most = gain_gpu_ms(asker, rules)
    problem = Problem(asker, snapshot.nodes, tuple(choices), tuple(_caps(choices, asker, snapshot, rules)), most)
    return Field(problem, rule, closed, reclaim)


def gain_gpu_ms(asker: Asker, rules: Rules) -> int:
    """The most that funded victims may lose for it."""
    part = rules.debug_proportion if asker.debug and rules.debug_lane else rules.proportion
    surely = asker.gpus_milli * max(asker.min_runtime_s, rules.least_gain_s)
    return surely * part.numerator // part.denominator


def _open(
    unit: Unit, class_: Class, asker: Asker, snapshot: Snapshot, rules: Rules, reclaim: Reclaim
) -> tuple[str, str]:
    """The rule that lets the asker take the unit, or '' and why none does."""
    match class_:
        case Class.UNFUNDED:
            return FREE, ""
        case Class.CONTRACT:
            return "", "contract"
        case _:
            pass
    if unit.preempted_today >= rules.preemptions_a_day:
        return "", "preempted_often"
    if unit.lost_gpu_ms > gain_gpu_ms(asker, rules):
        return "", "loss_exceeds_gain"
    if unit.account == asker.account:
        by_priority = rules.priority_inside_leaf and asker.priority > unit.priority
        return (INSIDE, "") if asker.debug or by_priority else ("", "own_account")
    if class_ == Class.OVER and reclaim.holds:
        return RECLAIM, ""
    if rules.rebalance and _rebalances(unit, asker, snapshot, rules):
        return REBALANCE, ""
    if rules.debug_lane and asker.debug and asker.gpus_milli <= rules.debug_lane_milli:
        return DEBUG_LANE, ""
    return "", "ratio"


def _reclaim(asker: Asker, snapshot: Snapshot, rules: Rules) -> Reclaim:
    """R1: ρ including the new contract is at most 1 on the whole path, over a longer window where one is too short."""
    path: list[tuple[str, Ratio, Fraction]] = []
    above: str | None = None
    for account in lineage(asker.account):
        ratio, windows = snapshot.ratio(account), Fraction(1)
        if asker.contract_gpu_ms > ratio.claim_gpu_ms:
            longer = snapshot.history.covering(account, asker.contract_gpu_ms, rules.longest_windows)
            if longer is not None:
                used, claim = snapshot.history.over(account, longer)
                ratio, windows = Ratio(used, ratio.committed_gpu_ms, claim), longer
        after = with_contract(ratio, asker.contract_gpu_ms)
        path.append((account, after, windows))
        if above is None and exceeds(after, Fraction(1)):
            above = account
    return Reclaim(tuple(path), above)


def _rebalances(unit: Unit, asker: Asker, snapshot: Snapshot, rules: Rules) -> bool:
    """R2, on the state after the swap: the asker's side still stands a margin below the victim's."""
    mine, theirs = below_common(asker.account, unit.account), below_common(unit.account, asker.account)
    if mine is None or theirs is None:
        return False
    after = with_contract(snapshot.ratio(mine), asker.contract_gpu_ms)
    return beats(after, snapshot.ratio(theirs), rules.hysteresis)


def _caps(choices: list[Choice], asker: Asker, snapshot: Snapshot, rules: Rules) -> Iterator[Cap]:
    """Floors: what may be taken from each child of a common ancestor."""
    sides: dict[tuple[str, str], set[str]] = {}
    for unit, class_ in choices:
        mine, theirs = below_common(asker.account, unit.account), below_common(unit.account, asker.account)
        if class_ > Class.UNFUNDED and mine is not None and theirs is not None:
            sides.setdefault((mine, theirs), set()).add(unit.name)
    for (mine, theirs), units in sorted(sides.items()):
        if snapshot.running_milli.get(mine, 0) >= _floor_milli(mine, snapshot, rules):
            above = snapshot.running_milli.get(theirs, 0) - _floor_milli(theirs, snapshot, rules)
            yield Cap(theirs, frozenset(units), max(0, above))


def _floor_milli(account: str, snapshot: Snapshot, rules: Rules) -> int:
    """Half an account's share of the healthy GPUs, rounded up."""
    floor = rules.floor * snapshot.shares.get(account, Fraction(0)) * snapshot.healthy_milli
    return -(-floor.numerator // floor.denominator)


def _rank(choice: Choice, asker: Asker, snapshot: Snapshot) -> tuple[int, Fraction, int, int, str]:
    """Who goes first of equals: most over its claim, lower priority inside an account, newest, name."""
    unit, class_ = choice
    over = Fraction(0)
    if class_ > Class.UNFUNDED:
        numerator, denominator = snapshot.ratio(below_common(unit.account, asker.account) or unit.account).terms
        over = Fraction(numerator, denominator) if denominator else Fraction(1 << 60)
    return (class_, -over, unit.priority, -unit.started_s, unit.name)
