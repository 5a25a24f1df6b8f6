"""Fair tree reads shares and usage as Slurm and flux-accounting do, and orders users by the ranking's rule.

Their level FS, (part of the siblings' shares) / (part of the parent's usage), is the inverse of a ρ whose
claim is in proportion to the shares: greatest level FS first is lowest ρ first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.ranking import Ratio, tie_groups

NOT_USED: Final = Ratio(0, 0, 1)
NO_SHARE: Final = Ratio(1, 0, 0)


@dataclass(frozen=True, slots=True)
class Association:
    """A row of a share tree: an account, or a user (a leaf) in one.

    `parent` is None at the top. `shares` is a weight among siblings, never a percent: any whole number,
    over 100 too; None is Slurm's Fairshare=parent. `usage` counts for users, in any one unit; an account's
    is the sum of its users'.
    """

    name: str
    parent: str | None
    shares: int | None
    usage: int
    user: bool


def fair_tree(associations: Iterable[Association]) -> list[list[str]]:
    """Users as tie groups, greatest level FS first, depth first, the children of tied siblings merged.

    A user tied with an account shares the group of the account's best user and stands before it. Raises
    ValueError for a name that repeats and a parent that is unknown, a user, or its own descendant.
    """
    tree = _by_name(associations)
    inverse = inverse_level_fs(tree.values())
    return tie_groups(
        {
            row.name: tuple(inverse[above.name] for above in _chain(row, tree) if above.name in inverse)
            for row in tree.values()
            if row.user
        }
    )


def inverse_level_fs(associations: Iterable[Association]) -> dict[str, Ratio]:
    """U / S of every association: 0 without usage, infinite without shares even if unused (level FS ∞ and 0).

    An account with Fairshare=parent has none: it is no level, its children compete among its siblings. A user
    with Fairshare=parent adds nothing to its level's shares and has U / S = 0.
    """
    tree = _by_name(associations)
    usage: Counter[str | None] = Counter()
    for row in tree.values():
        if row.user:
            usage[None] += row.usage
            for above in _chain(row, tree):
                usage[above.name] += row.usage
    levels: defaultdict[str | None, list[Association]] = defaultdict(list)
    for row in tree.values():
        if row.user or row.shares is not None:
            levels[_level(row, tree)].append(row)
    return {
        row.name: _inverse(row, usage[row.name], usage[level], shares)
        for level, siblings in levels.items()
        for shares in [sum(sibling.shares or 0 for sibling in siblings)]
        for row in siblings
    }


def countdown(groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """Each user's rank as Slurm counts it, down from the number of users; Slurm's factor is rank / users."""
    left = sum(len(group) for group in groups)
    ranks: dict[str, int] = {}
    for group in groups:
        ranks |= dict.fromkeys(group, left)
        left -= len(group)
    return ranks


def _inverse(row: Association, usage: int, level_usage: int, level_shares: int) -> Ratio:
    if row.shares is None:
        return NOT_USED
    if row.shares == 0:
        return NO_SHARE
    return Ratio(usage * level_shares, 0, level_usage * row.shares)


def _by_name(associations: Iterable[Association]) -> dict[str, Association]:
    rows = list(associations)
    tree = {row.name: row for row in rows}
    if len(tree) < len(rows):
        raise ValueError("an association is given twice")
    return tree


def _chain(row: Association, tree: Mapping[str, Association]) -> list[Association]:
    """The association and the accounts above it, top first."""
    chain = [row]
    while (parent := chain[-1].parent) is not None:
        if parent not in tree or tree[parent].user or tree[parent] in chain:
            raise ValueError(f"{chain[-1].name} has no account {parent} above it")
        chain.append(tree[parent])
    return chain[::-1]


def _level(row: Association, tree: Mapping[str, Association]) -> str | None:
    """The nearest account above that is not Fairshare=parent; None is the top."""
    above = [account.name for account in _chain(row, tree)[:-1] if account.shares is not None]
    return above[-1] if above else None
