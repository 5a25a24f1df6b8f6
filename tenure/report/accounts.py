"""What every account of the subtree claimed, was owed and got; ancestors as the sums of their leaves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final

from ledger.ranking import OWN_PART, Ratio, Weighting, weighted_sum
from ledger.tree import lineage
from ledger.units import HOUR_S
from tenure.report.tables import POOL, Cell, Column, Part, Section, section
from tenure.report.values import Leaf, LeafHour, Question

NOBODY: Final = "(no account named)"


def below(question: Question, account: str) -> str:
    """The account without what all of them have in front: the subtree's path, or the root."""
    if not account:
        return NOBODY
    top = question.account or account.partition("/")[0]
    return account.removeprefix(f"{top}/")


@dataclass(slots=True)
class Sums:
    """An account over the period, GPU-milliseconds; `period_met` is leaf by leaf, as `met` is leaf and hour."""

    claim: int = 0
    grant: int = 0
    charged: int = 0
    refunded: int = 0
    demand: int = 0
    owed: int = 0
    met: int = 0
    period_met: int = 0
    unfunded: int = 0

    @property
    def delivered(self) -> int:
        """Charged, less what was given back."""
        return self.charged - self.refunded

    def add(self, other: Sums) -> None:
        """Put another account's on top."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account of a pool. `is_leaf`: no other account of the pack lies below it."""

    pool: str
    account: str
    sums: Sums
    ratio: Ratio
    is_leaf: bool


COLUMNS: Final = (
    POOL,
    Column("account", "account", "text", "programs"),
    Column("shown", "account", "text", "people"),
    Column("claim_gpu_ms", "by shares", "gpu_ms", "programs"),
    Column("grant_gpu_ms", "by grants", "gpu_ms", "programs"),
    Column("claimed_gpu_ms", "claim", "gpu_ms", "people"),
    Column("demand_gpu_ms", "demand", "gpu_ms"),
    Column("owed_gpu_ms", "owed", "gpu_ms"),
    Column("charged_gpu_ms", "charged", "gpu_ms", "programs"),
    Column("refunded_gpu_ms", "refunded", "gpu_ms", "programs"),
    Column("delivered_gpu_ms", "delivered", "gpu_ms"),
    Column("strict", "strict", "part"),
    Column("period", "period", "part"),
    Column("ratio", "ρ", "ratio"),
    Column("window_delivered_gpu_ms", "delivered in the window", "gpu_ms", "programs"),
    Column("window_claim_gpu_ms", "claim in the window", "gpu_ms", "programs"),
    Column("unfunded_gpu_ms", "unfunded", "gpu_ms"),
    Column("commitment_gpu_ms", "bound", "gpu_ms"),
)


def account_lines(
    question: Question, weighting: Weighting, leaves: Iterable[Leaf], hours: Iterable[LeafHour]
) -> list[AccountLine]:
    """Every account of the subtree that has a figure, by pool and then down the tree."""
    sums = _rolled_up(question, leaves)
    ratios = _ratios(question, weighting, hours)
    keys = sorted(sums.keys() | ratios.keys(), key=lambda key: (key[0], _tree_order(key[1])))
    inner = {(pool, above) for pool, account in keys for above in _above(account)}
    nothing = Ratio(0, 0, 0)
    return [
        AccountLine(pool, account, sums.get(key, Sums()), ratios.get(key, nothing), key not in inner)
        for key in keys
        for pool, account in [key]
    ]


def _rolled_up(question: Question, leaves: Iterable[Leaf]) -> dict[tuple[str, str], Sums]:
    rolled: dict[tuple[str, str], Sums] = {}
    for leaf in leaves:
        found = _of_leaf(leaf)
        for account in lineage(leaf.account):
            if question.holds(account):
                rolled.setdefault((leaf.pool, account), Sums()).add(found)
    return rolled


def _of_leaf(leaf: Leaf) -> Sums:
    return Sums(
        leaf.claim_gpu_ms,
        leaf.grant_gpu_ms,
        leaf.charged_gpu_ms,
        leaf.refunded_gpu_ms,
        leaf.demand_gpu_ms,
        leaf.owed_gpu_ms,
        leaf.met_gpu_ms,
        min(leaf.charged_gpu_ms - leaf.refunded_gpu_ms, leaf.owed_gpu_ms),
        leaf.unfunded_gpu_ms,
    )


def _ratios(question: Question, weighting: Weighting, hours: Iterable[LeafHour]) -> dict[tuple[str, str], Ratio]:
    """ρ of every account at the question's instant, by the window or the half-life in force."""
    of: dict[tuple[str, str], list[LeafHour]] = {}
    for hour in hours:
        for account in lineage(hour.account):
            if question.holds(account):
                of.setdefault((hour.pool, account), []).append(hour)
    return {key: _ratio(question.as_of_s, weighting, found) for key, found in of.items()}


def _ratio(as_of_s: int, weighting: Weighting, hours: list[LeafHour]) -> Ratio:
    now = as_of_s // HOUR_S
    return Ratio(
        weighted_sum(((h.hour_s // HOUR_S, h.delivered_gpu_ms) for h in hours), now, weighting),
        sum(h.commitment_gpu_ms for h in hours if h.hour_s + HOUR_S == as_of_s),
        weighted_sum(((h.hour_s // HOUR_S, h.claim_gpu_ms) for h in hours), now, weighting),
    )


def _tree_order(account: str) -> tuple[bool, list[str]]:
    """Down the tree, own parts first, and last what named no account."""
    return not account, account.split("/")


def _above(account: str) -> Iterator[str]:
    return (above for above in lineage(account) if above != account)


def shown(question: Question, account: str) -> str:
    """The account as a line of the tree, drawn in by its depth below the subtree's top."""
    if not account:
        return NOBODY
    top = question.account.count("/")
    depth = account.count("/") - top
    name = account if not depth else account.rpartition("/")[2]
    return "  " * depth + ("(own part)" if name == OWN_PART else name)


def accounts_section(question: Question, lines: Iterable[AccountLine]) -> Section:
    """The statement of accounts."""
    return section(
        "accounts",
        "What each account was owed and got",
        COLUMNS,
        [_row(question, line) for line in lines],
        notes=(
            "strict: min(delivered, owed) / owed, hour by hour; period: over the whole period, leaf by leaf.",
            "ρ: (delivered in the window + bound by running contracts) / claim in the window, as of the statement.",
        ),
        empty="No account had a claim or used a GPU.",
        apart=True,
    )


def _row(question: Question, line: AccountLine) -> tuple[Cell, ...]:
    sums, ratio = line.sums, line.ratio
    return (
        line.pool,
        line.account,
        shown(question, line.account),
        sums.claim,
        sums.grant,
        sums.claim + sums.grant,
        sums.demand,
        sums.owed,
        sums.charged,
        sums.refunded,
        sums.delivered,
        Part(sums.met, sums.owed),
        Part(sums.period_met, sums.owed),
        Part(ratio.used_gpu_ms + ratio.committed_gpu_ms, ratio.claim_gpu_ms),
        ratio.used_gpu_ms,
        ratio.claim_gpu_ms,
        sums.unfunded,
        ratio.committed_gpu_ms,
    )
