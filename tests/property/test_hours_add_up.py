"""What must add up in every hour anybody ever closed or corrected (POLICY §6, P7 and P15), on random logs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from ledger import rows
from ledger.tree import Shares
from tests.oracle.logs import seeded_log
from tests.support.folded import Folded, folded

SEEDS = range(64)
STATES = 2_000


def test_occupied_unavailable_and_idle_are_the_capacity():
    """P15, on each version of each hour of each pool and node."""
    states = 0
    for seed in SEEDS:
        book = folded(seeded_log(seed, hours=12, nodes=4, jobs=12))
        for row in (*book.tables[rows.ClusterHour].values(), *book.tables[rows.NodeHour].values()):
            occupied = row.unfunded_gpu_ms + row.protected_gpu_ms + row.interruptible_gpu_ms + row.suspended_gpu_ms
            unavailable = row.unavailable_planned_gpu_ms + row.unavailable_unplanned_gpu_ms
            assert occupied + unavailable + row.idle_gpu_ms == row.capacity_gpu_ms + row.overbooked_gpu_ms
            states += 1
    assert states >= STATES


def test_children_claim_no_more_than_their_parent_and_the_books_settle():
    """P7: at every edge of the shares, and in every version of every hour."""
    states = 0
    for seed in SEEDS:
        book = folded(seeded_log(seed, hours=12, nodes=4, jobs=12))
        states += _shares_fit(book) + _claims_fit(book)
        for posted in book.net().values():
            settled: Counter[str] = Counter()
            for (_, which, *_), amount in posted.items():
                settled[which] += amount
            assert not any(settled.values())
    assert states >= STATES


def _shares_fit(book: Folded) -> int:
    """How many parents were looked at: their children have at most what they have by the sets in force."""
    shares, looked = book.book.state.shares, 0
    for pool, at_s in ((pool, at_s) for pool in ("a100", "h100") for at_s in shares.edges):
        leaves = shares.tree_at(pool, at_s).leaves
        for parent in {leaf.rpartition("/")[0] for leaf in leaves}:
            below = sum(share for leaf, share in leaves.items() if leaf.startswith(f"{parent}/"))
            assert below <= _share(shares, pool, parent, at_s)
            looked += 1
    return looked


def _share(shares: Shares, pool: str, account: str, at_s: int) -> Fraction:
    """The product of the shares on its path, each of the last set in force."""
    parent = account.rpartition("/")[0]
    if not parent:
        return Fraction(1)
    known = (shares.revisions.get((scope, parent), []) for scope in (pool, "*"))
    in_force = next(found[-1] for sets in known if (found := [one for one in sets if one.effective_s <= at_s]))
    percent = next(child.percent for child in in_force.children if child.child == account.rpartition("/")[2])
    return _share(shares, pool, parent, at_s) * Fraction(percent) / 100


def _claims_fit(book: Folded) -> int:
    """How many hours of pools were looked at: all claims together are at most the healthy capacity."""
    clusters = book.latest(rows.ClusterHour, "hour_s", "pool")
    claimed: Counter[tuple[int, str]] = Counter()
    for (hour_s, pool, _), row in book.latest(rows.AccountHour, "hour_s", "pool", "account").items():
        claimed[hour_s, pool] += row.claim_gpu_ms
    for key, row in clusters.items():
        assert claimed[key] == row.claimed_gpu_ms
        assert row.claimed_gpu_ms <= row.capacity_gpu_ms + row.overbooked_gpu_ms
    return len(clusters)
