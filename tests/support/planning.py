"""A state to plan in, as readable text, and what is expected of the plan. See tests/scenarios/plans/README.md."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from enforcer.gates import Refusal
from enforcer.plan import Plan, plan
from enforcer.rules import Rules
from enforcer.snapshot import Asker, Node, Snapshot, Unit
from ledger.ranking import Ratio
from ledger.tree import lineage
from ledger.units import GPU_MILLI, HOUR_S

NOW_S = 10_000_000
UNITS_S = {"s": 1, "min": 60, "h": HOUR_S, "d": 24 * HOUR_S}


@dataclass
class Accounts:
    """Shares in percent and ratios, by account; the window is 168 h of the healthy GPUs."""

    shares: dict[str, Fraction] = field(default_factory=dict)
    ratios: dict[str, Fraction] = field(default_factory=dict)
    healthy_milli: int = 0

    def claim_gpu_ms(self, account: str) -> int:
        return int(self.shares[account] * self.healthy_milli * 168 * HOUR_S)

    def ratio(self, account: str) -> Ratio:
        claim = self.claim_gpu_ms(account)
        return Ratio(int(self.ratios.get(account, Fraction(0)) * claim), 0, claim)

    def over(self, account: str, windows: Fraction) -> tuple[int, int]:
        one = self.ratio(account)
        return int(one.used_gpu_ms * windows), int(one.claim_gpu_ms * windows)

    def covering(self, account: str, claim_gpu_ms: int, most: int) -> Fraction | None:
        claim = self.claim_gpu_ms(account)
        found = Fraction(claim_gpu_ms, claim) if claim else None
        return found if found is not None and found <= most else None


def seconds(text: str) -> int:
    """`90s`, `15min`, `8h`, `2d`."""
    unit = text.lstrip("0123456789.")
    return int(Fraction(text.removesuffix(unit)) * UNITS_S[unit])


def milli(text: str) -> int:
    return int(Fraction(text) * GPU_MILLI)


def options(words: list[str]) -> dict[str, str]:
    """`key value` pairs."""
    return dict(zip(words[::2], words[1::2], strict=True))


class State:
    """What the lines of a scenario come to."""

    def __init__(self) -> None:
        self.accounts = Accounts()
        self.nodes: dict[str, Node] = {}
        self.units: list[Unit] = []
        self.askers: list[Asker] = []
        self.rules = Rules()
        self.expected: list[tuple[str, list[str]]] = []

    def take(self, line: str) -> None:
        """One line."""
        word, *rest = line.split()
        getattr(self, f"_{word}")(rest)

    def _nodes(self, words: list[str]) -> None:
        *names, size = words
        for name in names:
            self.nodes[name] = Node(name, milli(size), milli(size))
            self.accounts.healthy_milli += milli(size)

    def _unusable(self, words: list[str]) -> None:
        for name in words:
            self.nodes[name] = replace(self.nodes[name], usable=False)
            self.accounts.healthy_milli -= self.nodes[name].size_milli

    def _promised(self, words: list[str]) -> None:
        name, amount = words
        self.nodes[name] = replace(self.nodes[name], promised_milli=milli(amount))

    def _account(self, words: list[str]) -> None:
        name, percent, *rest = words
        self.accounts.shares[name] = Fraction(percent) / 100
        if rest:
            self.accounts.ratios[name] = Fraction(options(rest)["ratio"])

    def _rule(self, words: list[str]) -> None:
        name, value = words
        chosen: object = {"on": True, "off": False}.get(value)
        changes: dict[str, Any] = {name: Fraction(value) if chosen is None else chosen}
        self.rules = replace(self.rules, **changes)

    def _run(self, words: list[str]) -> None:
        name, account, places, *rest = words
        chosen = options(rest)
        placements = tuple((p.split(":")[0], milli(p.split(":")[1])) for p in places.split(","))
        for node, amount in placements:
            self.nodes[node] = replace(self.nodes[node], free_milli=self.nodes[node].free_milli - amount)
        started_s = NOW_S - seconds(chosen.get("for", "10h"))
        lost_s = seconds(chosen["unsaved"]) if "unsaved" in chosen else NOW_S - started_s
        self.units.append(
            Unit(
                name,
                ((name, "1"),),
                "" if account == "-" else account,
                placements,
                started_s,
                started_s + seconds(chosen.get("contract", "0s")),
                sum(amount for _, amount in placements) * lost_s,
                int(chosen.get("priority", "0")),
                int(chosen.get("preempted", "0")),
            )
        )

    def _ask(self, words: list[str]) -> None:
        name, account, shape, *rest = words
        chosen = options(rest)
        pieces, _, size = shape.partition("x")
        self.askers.append(
            Asker(
                name,
                "" if account == "-" else account,
                int(pieces),
                milli(size),
                seconds(chosen.get("contract", "1h")),
                NOW_S - seconds(chosen.get("waited", "10min")),
                priority=int(chosen.get("priority", "0")),
                debug=chosen.get("debug") == "yes",
                not_before_s=NOW_S + seconds(chosen["backoff"]) if "backoff" in chosen else 0,
            )
        )

    def _expect(self, words: list[str]) -> None:
        self.expected.append((words[0], words[1:]))

    def snapshot(self) -> Snapshot:
        """The state as it is planned in."""
        running: dict[str, int] = {}
        for unit in self.units:
            for account in lineage(unit.account) if unit.account else ():
                running[account] = running.get(account, 0) + unit.gpus_milli
        ratios = {account: self.accounts.ratio(account) for account in self.accounts.shares}
        return Snapshot(
            "c",
            "h100",
            1,
            NOW_S,
            tuple(self.nodes.values()),
            tuple(self.units),
            tuple(self.askers),
            ratios,
            self.accounts.shares,
            running,
            self.accounts,
        )


def judge(text: str) -> None:
    """Plan in the state of a scenario and hold the plan to what it expects."""
    state = State()
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            state.take(line)
    plans, refused = plan(state.snapshot(), state.rules)
    made = {it.asker.job: it for it in plans}
    failed = {it.job: it for it in refused}
    assert state.expected, "a scenario expects something"
    for job, words in state.expected:
        match words:
            case ["refused", gate, name]:
                assert (failed[job].gate, failed[job].name) == (gate, name), (failed.get(job), made.get(job))
            case ["takes", number, "of", *names] if number.isdigit():
                taken = victims(made, failed, job)
                assert len(taken) == int(number), taken
                assert taken <= set(names), taken
            case ["takes", *names]:
                assert victims(made, failed, job) == set(names)
            case ["on", *nodes]:
                assert [name for name, _ in made[job].hosts] == nodes
            case ["by", rule]:
                assert made[job].rule == rule
            case _:
                raise AssertionError(f"not an expectation: {job} {words}")


def victims(made: dict[str, Plan], failed: dict[str, Refusal], job: str) -> set[str]:
    assert job in made, failed.get(job)
    return {victim.unit.name for victim in made[job].victims}
