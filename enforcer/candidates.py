"""Whom a rule lets an asker take from (POLICY §3): R0 to R3, floor and proportion. Pure and exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from enforcer.classes import Class, banked_class, beats, below_common, class_of, exceeds, with_contract
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
    sights: dict[str, Sight] = {}
    rule: dict[str, str] = {}
    closed: dict[str, str] = {}
    choices: list[Choice] = []
    most = gain_gpu_ms(asker, rules)
    for unit in snapshot.units:
        sight = sights.get(unit.account)
        if sight is None:
            sight = sights[unit.account] = _sight(unit.account, asker, snapshot, rules)
        class_ = class_of(unit, sight.banked, snapshot.at_s)
        opened, why = _open(unit, class_, sight, asker, rules, reclaim, most)
        if opened:
            rule[unit.name] = opened
            inside = unit.account == asker.account and class_ == Class.WITHIN
            choices.append(Choice(unit, Class.OVER if inside else class_))
        else:
            closed[unit.name] = why
    choices.sort(key=lambda choice: _rank(choice, sights[choice.unit.account]))
    caps = tuple(_caps(choices, sights, snapshot, rules))
    return Field(Problem(asker, snapshot.nodes, tuple(choices), caps, most), rule, closed, reclaim)


class Sight(NamedTuple):
    """How an asker sees an account, the same for all of its units.

    `banked` is the class of what is not inside a contract. `sides` are the asker's and its own child of their common
    ancestor, if both have one.
    """

    banked: Class
    rebalances: bool
    over: Fraction
    sides: tuple[str, str] | None


def _sight(account: str, asker: Asker, snapshot: Snapshot, rules: Rules) -> Sight:
    if not account:
        return Sight(Class.UNFUNDED, rebalances=False, over=Fraction(0), sides=None)
    mine, theirs = below_common(asker.account, account), below_common(account, asker.account)
    numerator, denominator = snapshot.ratio(theirs or account).terms
    over = Fraction(numerator, denominator) if denominator else Fraction(1 << 60)
    banked = banked_class(account, asker.account, snapshot, rules.hysteresis)
    if mine is None or theirs is None:
        return Sight(banked, rebalances=False, over=over, sides=None)
    after = with_contract(snapshot.ratio(mine), asker.contract_gpu_ms)
    return Sight(banked, beats(after, snapshot.ratio(theirs), rules.hysteresis), over, (mine, theirs))


def gain_gpu_ms(asker: Asker, rules: Rules) -> int:
    """The most that funded victims may lose for it."""
    part = rules.debug_proportion if asker.debug and rules.debug_lane else rules.proportion
    surely = asker.gpus_milli * max(asker.min_runtime_s, rules.least_gain_s)
    return surely * part.numerator // part.denominator


def _open(
    unit: Unit, class_: Class, sight: Sight, asker: Asker, rules: Rules, reclaim: Reclaim, most_gpu_ms: int
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
    if unit.lost_gpu_ms > most_gpu_ms:
        return "", "loss_exceeds_gain"
    if unit.account == asker.account:
        by_priority = rules.priority_inside_leaf and asker.priority > unit.priority
        return (INSIDE, "") if asker.debug or by_priority else ("", "own_account")
    if class_ == Class.OVER and reclaim.holds:
        return RECLAIM, ""
    if rules.rebalance and sight.rebalances:
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


def _caps(choices: list[Choice], sights: dict[str, Sight], snapshot: Snapshot, rules: Rules) -> Iterator[Cap]:
    """Floors: what may be taken from each child of a common ancestor."""
    sides: dict[tuple[str, str], set[str]] = {}
    for unit, class_ in choices:
        both = sights[unit.account].sides
        if class_ > Class.UNFUNDED and both is not None:
            sides.setdefault(both, set()).add(unit.name)
    healthy_milli = snapshot.healthy_milli
    for (mine, theirs), units in sorted(sides.items()):
        if snapshot.running_milli.get(mine, 0) >= _floor_milli(mine, snapshot, rules, healthy_milli):
            above = snapshot.running_milli.get(theirs, 0) - _floor_milli(theirs, snapshot, rules, healthy_milli)
            yield Cap(theirs, frozenset(units), max(0, above))


def _floor_milli(account: str, snapshot: Snapshot, rules: Rules, healthy_milli: int) -> int:
    """Half an account's share of the healthy GPUs, rounded up."""
    floor = rules.floor * snapshot.shares.get(account, Fraction(0)) * healthy_milli
    return -(-floor.numerator // floor.denominator)


def _rank(choice: Choice, sight: Sight) -> tuple[int, Fraction, int, int, str]:
    """Who goes first of equals: most over its claim, lower priority inside an account, newest, name."""
    unit, class_ = choice
    return (class_, -sight.over, unit.priority, -unit.started_s, unit.name)
