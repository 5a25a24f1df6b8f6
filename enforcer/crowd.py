"""A snapshot put in order once for all of its askers: units by account, accounts by how far they are over. Pure."""

from __future__ import annotations

from functools import cached_property

from enforcer.classes import Class, exceeds
from enforcer.rules import Rules
from enforcer.selection.problem import Choice, Problem
from enforcer.snapshot import Asker, Snapshot, Unit, path_of


class Crowd:
    """Units that are inside no contract, by account ('' the unfunded); `bound` counts the others."""

    def __init__(self, snapshot: Snapshot, rules: Rules) -> None:
        """Puts the units in order; the rest when it is asked for."""
        self.snapshot = snapshot
        self.rules = rules
        self.bound = 0
        self._banked: dict[str, list[Unit]] = {}
        for unit in snapshot.units:
            if unit.account and snapshot.at_s < unit.contract_end_s:
                self.bound += 1
            else:
                self._banked.setdefault(unit.account, []).append(unit)
        self.banked_funded = sum(len(units) for account, units in self._banked.items() if account)
        self._paths: dict[str, tuple[str, ...]] = {}
        self._over: dict[str, bool] = {}
        self._over_under: dict[str, tuple[str, ...]] = {}
        self._rooms: dict[tuple[int, int, bool, int | None], bool] = {}

    # ------------------------------------------------------------ accounts

    def of(self, account: str) -> list[Unit]:
        """What is banked of an account itself."""
        return self._banked.get(account, [])

    def path(self, account: str) -> tuple[str, ...]:
        """An account's ancestors and itself, root first."""
        if account not in self._paths:
            self._paths[account] = path_of(account)
        return self._paths[account]

    def over(self, account: str) -> bool:
        """Whether its ρ is above 1 by more than the hysteresis."""
        if account not in self._over:
            self._over[account] = exceeds(self.snapshot.ratio(account), 1 + self.rules.hysteresis)
        return self._over[account]

    def under(self, account: str) -> list[str]:
        """Accounts with banked work: itself and all below it."""
        return self._under.get(account, [])

    def over_under(self, account: str) -> tuple[str, ...]:
        """Those of them that are over their claim, or below one that is."""
        if account not in self._over_under:
            depth = account.count("/")
            found = (one for one in self.under(account) if any(map(self.over, self.path(one)[depth:])))
            self._over_under[account] = tuple(found)
        return self._over_under[account]

    def children(self, parent: str) -> list[str]:
        """Accounts right below one ('' the roots) with banked work in them, the greatest ρ first."""
        return self._children.get(parent, [])

    @cached_property
    def order(self) -> dict[str, int]:
        """Accounts by ρ, the least first; equal ones at one place. Unfunded work, which has none, is before them."""
        ratios = sorted((self.snapshot.ratio(account), account) for account in self._under)
        found, place, before = {"": 0}, 0, None
        for ratio, account in ratios:
            place += ratio != before
            found[account], before = place, ratio
        return found

    @cached_property
    def _under(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for account in sorted(self._banked):
            for above in self.path(account):
                found.setdefault(above, []).append(account)
        return found

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for account in sorted(self._under, key=lambda one: (-self.order[one], one)):
            found.setdefault(account.rpartition("/")[0], []).append(account)
        return found

    # ------------------------------------------------------------ room

    def has_room(self, asker: Asker, most_lost_gpu_ms: int | None) -> bool:
        """Whether the asker would fit if everybody left who is not protected, and does not lose more than that.

        None: if unfunded work left alone. Askers of one shape find the same.
        """
        key = (asker.pieces, asker.piece_milli, asker.apart, most_lost_gpu_ms)
        if key not in self._rooms:
            choices = tuple(Choice(unit, Class.UNFUNDED) for unit in self._yielding(most_lost_gpu_ms))
            problem = Problem(asker, self.snapshot.nodes, choices, (), 0)
            self._rooms[key] = problem.fits(problem.places)
        return self._rooms[key]

    def _yielding(self, most_lost_gpu_ms: int | None) -> list[Unit]:
        found = list(self.of(""))
        if most_lost_gpu_ms is not None:
            funded = (unit for account, units in self._banked.items() if account for unit in units)
            found += [unit for unit in funded if not shut(unit, self.rules, most_lost_gpu_ms)]
        return found


def shut(unit: Unit, rules: Rules, most_lost_gpu_ms: int) -> str:
    """Why a funded unit may not be taken though a rule opens its account; '' where it may."""
    if unit.preempted_today >= rules.preemptions_a_day:
        return "preempted_often"
    return "loss_exceeds_gain" if unit.lost_gpu_ms > most_lost_gpu_ms else ""
