"""A look for new plans in a full cluster, and what a plan is worth beside simpler ways to choose.

A quarter of the runs is unfunded, half is inside contracts, the rest is banked; twice as much as there is waits, in
15 or 500 accounts. A look makes as many plans as the enforcer does at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from statistics import quantiles
from time import perf_counter
from typing import Final

from bench.report import Figure, Line
from enforcer.candidates import field_of
from enforcer.crowd import Crowd
from enforcer.plan import plan
from enforcer.protocol import AT_ONCE
from enforcer.rules import Rules
from enforcer.selection import exact, greedy
from enforcer.selection.problem import Problem
from enforcer.snapshot import Asker, Node, Snapshot, Unit
from ledger.ranking import Ratio
from ledger.tree import lineage
from ledger.units import HOUR_S

NOW_S: Final = 10_000_000
NODE_MILLI: Final = 8_000
WINDOW_H: Final = 168
RULES: Final = Rules()
SIZES: Final = (1, 1, 1, 2, 4, 8, 8, 16, 32)
"""GPUs of a job."""


@dataclass(frozen=True, slots=True)
class Span:
    """Longer windows are the one window, several times."""

    ratios: dict[str, Ratio]

    def over(self, account: str, windows: Fraction) -> tuple[int, int]:
        one = self.ratios[account]
        return int(one.used_gpu_ms * windows), int(one.claim_gpu_ms * windows)

    def covering(self, account: str, claim_gpu_ms: int, most: int) -> Fraction | None:
        found = Fraction(claim_gpu_ms, max(1, self.ratios[account].claim_gpu_ms))
        return found if found <= most else None


def busy(nodes: int, runs: int, pending: int, accounts: int, seed: int) -> Snapshot:
    """A cluster of so many nodes of 8 GPUs, most of them taken."""
    dice = Random(seed)
    leaves = [f"lab/p{n % max(3, accounts // 10)}/a{n}" for n in range(accounts)]
    units, free = _units(dice, leaves, nodes, runs)
    ratios = {account: _ratio(dice, account, accounts, nodes) for leaf in leaves for account in lineage(leaf)}
    running: dict[str, int] = {}
    for unit in units:
        for account in lineage(unit.account) if unit.account else ():
            running[account] = running.get(account, 0) + unit.gpus_milli
    return Snapshot(
        cluster="bench",
        pool="h100",
        seq=1,
        at_s=NOW_S,
        nodes=tuple(Node(f"n{n}", NODE_MILLI, free[n]) for n in range(nodes)),
        units=tuple(units),
        askers=tuple(_asker(dice, leaves, n) for n in range(pending)),
        ratios=ratios,
        shares={account: Fraction(1, accounts) for account in leaves},
        running_milli=running,
        history=Span(ratios),
    )


def _units(dice: Random, leaves: list[str], nodes: int, runs: int) -> tuple[list[Unit], list[int]]:
    free = [NODE_MILLI] * nodes
    units = []
    for n in range(runs):
        gpus = dice.choice(SIZES)
        pieces, each = max(1, gpus // 8), min(gpus, 8) * 1000
        start = dice.randrange(nodes)
        hosts = [at % nodes for at in range(start, start + nodes) if free[at % nodes] >= each][:pieces]
        if len(hosts) < pieces:
            continue
        for host in hosts:
            free[host] -= each
        kind = dice.random()
        ran_s = dice.randrange(60, 24 * HOUR_S)
        units.append(
            Unit(
                name=f"j{n}/1",
                runs=((f"j{n}", "1"),),
                account="" if kind < 0.25 else dice.choice(leaves),
                placements=tuple((f"n{host}", each) for host in sorted(hosts)),
                started_s=NOW_S - ran_s,
                contract_end_s=NOW_S + HOUR_S if kind > 0.5 else NOW_S - 60,
                lost_gpu_ms=pieces * each * dice.randrange(min(ran_s, 2 * HOUR_S)),
            )
        )
    return units, free


def _ratio(dice: Random, account: str, accounts: int, nodes: int) -> Ratio:
    parts = accounts if account.count("/") == 2 else 3 if "/" in account else 1
    claim = nodes * NODE_MILLI * WINDOW_H * HOUR_S // parts
    return Ratio(claim * dice.randrange(40, 160) // 100, 0, claim)


def _asker(dice: Random, leaves: list[str], n: int) -> Asker:
    gpus = dice.choice(SIZES)
    return Asker(
        job=f"q{n}",
        account=dice.choice(leaves),
        pieces=max(1, gpus // 8),
        piece_milli=min(gpus, 8) * 1000,
        min_runtime_s=dice.choice((HOUR_S // 4, HOUR_S, 4 * HOUR_S, 8 * HOUR_S)),
        since_s=NOW_S - 600,
        debug=dice.random() < 0.1,
    )


def a_look(passes: int = 20) -> Iterator[Line]:
    """How long it takes until the enforcer knows what to write."""
    for nodes, runs, pending, accounts, aim_ms in ((128, 700, 1_000, 15, 50), (1_250, 5_000, 10_000, 500, 500)):
        took = []
        plans = 0
        for seed in range(passes):
            snapshot = busy(nodes, runs, pending, accounts, seed)
            begun = perf_counter()
            plans += len(plan(snapshot, RULES, AT_ONCE)[0])
            took.append((perf_counter() - begun) * 1000)
        cuts = quantiles(took, n=100, method="inclusive")
        note = f"p50 {cuts[49]:,.0f} ms, {plans / passes:,.1f} plans"
        yield Figure(
            f"a look, {nodes * 8:,} GPUs, {pending:,} pending: p99", cuts[98], "ms", aim_ms, less=True, note=note
        )


def quality(states: int = 150) -> Iterator[Line]:
    """Plans beside those by rank, and by the count of GPUs alone."""
    unusable = extra_units = 0
    extra_lost_ms = lost_ms = units = seen = 0
    for seed in range(states):
        snapshot = busy(32, 170, 1, 8, seed)
        asker = replace(snapshot.askers[0], debug=False)
        problem = field_of(asker, Crowd(snapshot, RULES)).problem
        best = exact.solve(problem)
        if not best:
            continue
        seen += 1
        unusable += not problem.fits(_by_count(problem))
        ranked = greedy.solve(problem) or best
        units += len(best)
        lost_ms += problem.lost_gpu_ms(best)
        extra_units += len(ranked) - len(best)
        extra_lost_ms += problem.lost_gpu_ms(ranked) - problem.lost_gpu_ms(best)
    yield Figure(
        "by count alone: plans that make no room", 100 * unusable / seen, "%", None, note=f"{seen} states; ours 0 %"
    )
    yield Figure("by rank: victims more than ours", 100 * extra_units / units, "%", None)
    yield Figure("by rank: funded GPU time lost more than ours", 100 * extra_lost_ms / max(1, lost_ms), "%", None)


def _by_count(problem: Problem) -> set[str]:
    """First in rank first, until so many GPUs are free as are asked for, wherever they are."""
    free = sum(node.spare_milli for node in problem.nodes)
    chosen: set[str] = set()
    for choice in problem.choices:
        if free >= problem.asker.gpus_milli:
            break
        chosen.add(choice.unit.name)
        free += choice.unit.gpus_milli
    return chosen
