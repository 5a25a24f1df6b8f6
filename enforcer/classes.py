"""Who is protected from whom (POLICY §2): the class of a unit as a victim for one asker. Pure and exact."""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from itertools import takewhile

from enforcer.snapshot import path_of
from ledger.ranking import Ratio


class Class(IntEnum):
    """Lower yields first; the last never does."""

    UNFUNDED = 0
    OVER = 1
    WITHIN = 2
    CONTRACT = 3


def shared(one: str, other: str) -> int:
    """How many accounts two paths have in common, from the root down."""
    pairs = zip(path_of(one), path_of(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def below_common(account: str, other: str) -> str | None:
    """The account on the first path that is a child of the lowest common ancestor; None where there is none below."""
    path = path_of(account)
    depth = shared(account, other)
    return path[depth] if depth < len(path) else None


def exceeds(ratio: Ratio, bound: Fraction) -> bool:
    """Whether ρ is above a bound; infinity is above every one."""
    numerator, denominator = ratio.terms
    return numerator * bound.denominator > bound.numerator * denominator


def beats(asker: Ratio, victim: Ratio, hysteresis: Fraction) -> bool:
    """Whether ρ(asker) + h ≤ ρ(victim), exactly; nothing is less than infinity by a margin but what is finite."""
    a, b = asker.terms
    if not b:
        return False
    c, d = victim.terms
    if not d:
        return True
    return Fraction(a, b) + hysteresis <= Fraction(c, d)


def with_contract(ratio: Ratio, contract_gpu_ms: int) -> Ratio:
    """ρ once a contract is bound."""
    return Ratio(ratio.used_gpu_ms, ratio.committed_gpu_ms + contract_gpu_ms, ratio.claim_gpu_ms)
