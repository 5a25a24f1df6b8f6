"""Which accounts' banked work a rule opens to an asker (POLICY §3): R0 to R3, and inside its own. Pure and exact.

Accounts beside each one on the asker's path are looked at from the greatest ρ down, so that only those that are
opened cost anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from enforcer.classes import Class, beats, exceeds, with_contract
from enforcer.crowd import Crowd
from enforcer.rules import Rules
from enforcer.snapshot import Asker, Snapshot
from ledger.ranking import Ratio

FREE: Final = "R0"
RECLAIM: Final = "R1"
REBALANCE: Final = "R2"
DEBUG_LANE: Final = "R3"
INSIDE: Final = "inside"


class Opened(NamedTuple):
    """An account ('' unfunded work) that an asker may take from: by which rule, and the class of what is banked there.

    `side` is the account whose ρ counts, `sides` the asker's and its own child of their common ancestor, if both have
    one.
    """

    account: str
    rule: str
    class_: Class
    side: str
    sides: tuple[str, str] | None = None


class Reclaim(NamedTuple):
    """Whether R1 holds: ρ with the new contract by account, over how many windows, and the first that is above 1."""

    path: tuple[tuple[str, Ratio, Fraction], ...]
    above: str | None

    @property
    def holds(self) -> bool:
        """Every account of the path stays within its claim."""
        return self.above is None


def reclaim_of(asker: Asker, snapshot: Snapshot, rules: Rules) -> Reclaim:
    """R1: ρ including the new contract is at most 1 on the whole path, over a longer window where one is too short."""
    path: list[tuple[str, Ratio, Fraction]] = []
    above: str | None = None
    for account in asker.path:
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


def opened(asker: Asker, crowd: Crowd, reclaim: Reclaim) -> Iterator[Opened]:
    """Every account with banked work that a rule opens, unfunded work first."""
    if crowd.of(""):
        yield Opened("", FREE, Class.UNFUNDED, "")
    yield from _inside(asker, crowd)
    yield from _in_line(asker, crowd, reclaim)
    for mine in crowd.path(asker.account):
        yield from _beside(mine, asker, crowd, reclaim)


def _inside(asker: Asker, crowd: Crowd) -> Iterator[Opened]:
    """Its own account, to a debug run, or by priority where the cluster wants that."""
    account = asker.account
    if crowd.of(account) and (asker.debug or crowd.rules.priority_inside_leaf):
        yield Opened(account, INSIDE, Class.OVER, account)


def _in_line(asker: Asker, crowd: Crowd, reclaim: Reclaim) -> Iterator[Opened]:
    """Accounts above and below its own, where work is booked if they had no children once: R2 compares none of them."""
    *above, own = crowd.path(asker.account)
    line = [(account, account, crowd.over(account)) for account in above if crowd.of(account)]
    for child in crowd.children(own):
        line += [(account, child, account in crowd.over_under(child)) for account in crowd.under(child)]
    for account, side, over in line:
        rule = RECLAIM if over and reclaim.holds else DEBUG_LANE if _in_debug_lane(asker, crowd) else ""
        if rule:
            yield Opened(account, rule, Class.OVER if over else Class.WITHIN, side)


def _beside(mine: str, asker: Asker, crowd: Crowd, reclaim: Reclaim) -> Iterator[Opened]:
    """What lies under the accounts that have the same parent as one on the asker's path."""
    rules, snapshot = crowd.rules, crowd.snapshot
    after = with_contract(snapshot.ratio(mine), asker.contract_gpu_ms)
    lane, beaten = _in_debug_lane(asker, crowd), rules.rebalance
    for theirs in crowd.children(mine.rpartition("/")[0]):
        if theirs == mine:
            continue
        beaten = beaten and beats(after, snapshot.ratio(theirs), rules.hysteresis)
        if not (beaten or lane or reclaim.holds):
            return
        over = crowd.over_under(theirs)
        for account in crowd.under(theirs) if beaten or lane else over:
            class_ = Class.OVER if account in over else Class.WITHIN
            rule = RECLAIM if class_ == Class.OVER and reclaim.holds else REBALANCE if beaten else DEBUG_LANE
            yield Opened(account, rule, class_, theirs, (mine, theirs))


def _in_debug_lane(asker: Asker, crowd: Crowd) -> bool:
    """Whether R3 is on, and its account has room in the lane."""
    rules, there = crowd.rules, crowd.snapshot.debug_milli.get(asker.account, 0)
    return rules.debug_lane and asker.debug and there + asker.gpus_milli <= rules.debug_lane_milli
