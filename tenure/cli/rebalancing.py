"""How far R2 is from letting a waiting job take from others, in a sentence. Pure and exact."""

from __future__ import annotations

from fractions import Fraction

from enforcer.classes import beats, below_common, with_contract
from enforcer.rules import Rules
from enforcer.snapshot import Asker, Snapshot
from ledger.ranking import Ratio
from tenure.cli.text import plural, ratio


def rebalance(asker: Asker, open_: set[str], shut: set[str], snapshot: Snapshot, rules: Rules) -> str:
    """Whom R2 opens of the accounts that any rule does, and which of the others comes nearest to yielding by it."""
    path = {mine: with_contract(snapshot.ratio(mine), asker.contract_gpu_ms) for mine in asker.path}
    beaten = sorted(
        {theirs for mine, theirs in _sides(asker, open_) if beats(path[mine], snapshot.ratio(theirs), rules.hysteresis)}
    )
    told = "R2 is closed to it"
    if beaten:
        told = f"R2 opens {beaten[0] if len(beaten) == 1 else plural(len(beaten), 'account')} to it and nobody else"
    pairs = _sides(asker, shut)
    if not pairs:
        others = "the others" if beaten else "those who could yield"
        return f"{told}: {others} are of accounts above or below its own."
    mine, theirs = max(pairs, key=lambda pair: (gap(path[pair[0]], snapshot.ratio(pair[1])), pair))
    return (
        f"{told}: ρ of {mine} would be {ratio(path[mine])} with this contract, and must be "
        f"{float(rules.hysteresis):g} below that of those who yield; nearest is {theirs} with "
        f"{ratio(snapshot.ratio(theirs))}."
    )


def _sides(asker: Asker, accounts: set[str]) -> set[tuple[str, str]]:
    """The asker's and their children of the common ancestors, where both have one."""
    sides = {(below_common(asker.account, theirs), below_common(theirs, asker.account)) for theirs in accounts}
    return {(mine, theirs) for mine, theirs in sides if mine is not None and theirs is not None}


def gap(mine: Ratio, theirs: Ratio) -> tuple[bool, bool, Fraction]:
    """Greater where theirs is further above, exactly; between infinities there is no difference."""
    (a, b), (c, d) = mine.terms, theirs.terms
    return bool(b), not d, (Fraction(c, d) if d else Fraction(0)) - (Fraction(a, b) if b else Fraction(0))
