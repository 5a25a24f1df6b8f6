"""`plan`: for every asker in rank order, who yields to it and why, or the gate it fails. Pure.

The same snapshot and rules give the same plans, byte for byte. Plans of one snapshot build on each other: what one
promises is not promised again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from enforcer import gates
from enforcer.candidates import Field, field_of, makes_no_room
from enforcer.classes import Class, below_common, with_contract
from enforcer.crowd import Crowd
from enforcer.gates import Gates, Refusal
from enforcer.pace import Pace, pace_of
from enforcer.promises import promised
from enforcer.rules import Rules
from enforcer.selection import exact, greedy
from enforcer.selection.problem import Problem
from enforcer.snapshot import Asker, Snapshot, Unit
from ledger.ranking import Ratio
from ledger.units import GPU_MILLI, HOUR_S

TOO_LITTLE: Final = "those it may take from do not hold enough on the nodes it needs"


@dataclass(frozen=True, slots=True)
class Victim:
    """A unit that yields: its class, the rule that opens it, ρ of its side of the common ancestor, what it loses."""

    unit: Unit
    class_: Class
    rule: str
    side: str
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Alternative:
    """A choice that was considered and is worse, or not allowed."""

    units: tuple[str, ...]
    objective: tuple[int, int, int, int, int]
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Who yields to an asker, where it then fits, and the whole reason.

    `before` and `after` are ρ on the asker's path without and with its contract; `windows` says over how many windows
    R1 looked, and `closed` how many units were not to be had, by why.
    """

    asker: Asker
    victims: tuple[Victim, ...]
    hosts: tuple[tuple[str, int], ...]
    rule: str
    before: tuple[tuple[str, Ratio], ...]
    after: tuple[tuple[str, Ratio], ...]
    windows: tuple[tuple[str, Fraction], ...]
    objective: tuple[int, int, int, int, int]
    alternatives: tuple[Alternative, ...]
    closed: tuple[tuple[str, int], ...]
    lost_gpu_ms: int

    @property
    def orders(self) -> int:
        """How many runs it orders off."""
        return sum(len(victim.unit.runs) for victim in self.victims)


def plan(
    snapshot: Snapshot, rules: Rules, most: int | None = None, until: str | None = None
) -> tuple[tuple[Plan, ...], tuple[Refusal, ...]]:
    """The plans for a pool at an instant, in the order of the askers, and why the others get none.

    With `most`, askers after so many plans are not looked at; with `until`, those after that job. What is closed to
    others than that job is then not counted.
    """
    plans: list[Plan] = []
    refused: list[Refusal] = []
    brief, pace = most is not None or until is not None, pace_of(snapshot, rules)
    desk = _Desk(snapshot, rules, pace)
    for asker in _up_to(snapshot.askers, until):
        if len(plans) == most:
            break
        found = desk.ask(asker, brief=brief and asker.job != until)
        if isinstance(found, Refusal):
            refused.append(found)
            if found.name != "fits":
                continue
            room = Problem(asker, desk.snapshot.nodes, (), (), 0).hosts(())
            gone: tuple[Unit, ...] = ()
        else:
            plans.append(found)
            room, gone = found.hosts, tuple(v.unit for v in found.victims)
        desk = _Desk(promised(desk.snapshot, asker, taken(asker, room), gone), rules, pace)
    return tuple(plans), tuple(refused)


def _up_to(askers: tuple[Asker, ...], job: str | None) -> tuple[Asker, ...]:
    return next((askers[:place] for place, asker in enumerate(askers, 1) if asker.job == job), askers)


class _Desk:
    """Askers before one snapshot: what one is refused for, others that ask for the same are, too."""

    def __init__(self, snapshot: Snapshot, rules: Rules, pace: Pace) -> None:
        self.snapshot = snapshot
        self._pace = pace
        self._gates = Gates(snapshot, rules)
        self._crowd = Crowd(snapshot, rules)
        self._refused: dict[tuple[Asker, bool], Refusal] = {}

    def ask(self, asker: Asker, *, brief: bool = False) -> Plan | Refusal:
        refusal = self._gates.refusal(asker) or self._pace.full(asker.job)
        if refusal is not None:
            return refusal
        alike = (replace(asker, job="", since_s=0, not_before_s=0), brief)
        known = self._refused.get(alike)
        if known is not None:
            return replace(known, job=asker.job)
        hopeless = _hopeless(asker, self._crowd) if brief else None
        found = hopeless or _among(asker, self._crowd)
        if isinstance(found, Plan) and not self._pace.admits(found.orders):
            found = self._pace.refusal(asker.job, found.orders)
        if isinstance(found, Refusal):
            self._refused[alike] = found
        return found


def taken(asker: Asker, hosts: tuple[tuple[str, int], ...]) -> dict[str, int]:
    """Milli-GPUs by node of the pieces an asker has there."""
    return {name: pieces * asker.piece_milli for name, pieces in hosts}


def plan_for(asker: Asker, snapshot: Snapshot, rules: Rules) -> Plan | Refusal:
    """The plan for one asker, or the first gate it fails."""
    return _Desk(snapshot, rules, pace_of(snapshot, rules)).ask(asker)


def _hopeless(asker: Asker, crowd: Crowd) -> Refusal | None:
    """The same refusal as after a long look, without its numbers, where a short one tells."""
    return Refusal(asker.job, gates.RULE, "no_rule", TOO_LITTLE) if makes_no_room(asker, crowd) else None


def _among(asker: Asker, crowd: Crowd) -> Plan | Refusal:
    """The plan for an asker that may ask, or why nobody can yield to it."""
    field = field_of(asker, crowd)
    chosen = exact.solve(field.problem)
    if chosen is None:
        return _no_victims(asker, field)
    return _made(asker, crowd.snapshot, field, chosen)


def _no_victims(asker: Asker, field: Field) -> Refusal:
    """Which of G2 and G7 is in the way: whether room could be made if floors and losses did not count."""
    problem, closed = field.problem, tuple(sorted(field.closed.items()))
    everybody = {choice.unit.name for choice in problem.choices}
    if problem.fits(everybody):
        most = problem.most_lost_gpu_ms / (GPU_MILLI * HOUR_S)
        sentence = (
            f"funded work would lose more than {most:,.1f} GPU-hours, which is what this job's own weighs, or an "
            "account would fall below half of its share"
        )
        return Refusal(asker.job, gates.PROPORTION, "loss_exceeds_gain", sentence, closed=closed)
    freed = problem.freed(everybody)
    places = sum(problem.pieces_on(node, freed.get(node.name, 0)) for node in problem.nodes)
    sentence = (
        f"{TOO_LITTLE}: were all gone ({len(everybody)} of {len(everybody) + field.closed.total()} units), there would "
        f"be room for {places} of its {asker.pieces} × {asker.piece_milli / GPU_MILLI:g} GPUs"
    )
    return Refusal(asker.job, gates.RULE, "no_rule", sentence, closed=closed)


def _made(asker: Asker, snapshot: Snapshot, field: Field, chosen: frozenset[str]) -> Plan:
    problem = field.problem
    path = asker.path
    victims = tuple(
        Victim(unit, class_, field.rule[unit.name], side, snapshot.ratio(side))
        for unit, class_ in problem.choices
        if unit.name in chosen
        for side in (below_common(unit.account, asker.account) or unit.account,)
    )
    return Plan(
        asker=asker,
        victims=victims,
        hosts=problem.hosts(chosen),
        rule=max((v.rule for v in victims), default="R0"),
        before=tuple((account, snapshot.ratio(account)) for account in path),
        after=tuple((a, with_contract(snapshot.ratio(a), asker.contract_gpu_ms)) for a in path),
        windows=tuple((account, windows) for account, _, windows in field.reclaim.path),
        objective=problem.objective(chosen),
        alternatives=tuple(_alternatives(problem, chosen)),
        closed=tuple(sorted(field.closed.items())),
        lost_gpu_ms=sum(v.unit.lost_gpu_ms for v in victims),
    )


def _alternatives(problem: Problem, chosen: frozenset[str]) -> Iterator[Alternative]:
    """What people ask about first: what the rank alone would have taken."""
    by_rank = greedy.solve(problem)
    if by_rank is not None and by_rank != chosen:
        yield Alternative(tuple(sorted(by_rank)), problem.objective(by_rank), "by rank alone")
