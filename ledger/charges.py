"""What one run adds to its account in a stretch of time (docs/accounting.md §4, §5). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ledger.hours import CHARGED, COMMITMENT, REFUNDED, UNFUNDED
from ledger.runs import SUSPENDED, UNKNOWN_POOL, DerivedRun, remaining_contract_s
from ledger.runs import UNFUNDED as UNFUNDED_CLASS

Line = tuple[str, int, int]
"""(pool, field of the account's sums, GPU-milliseconds)."""

PoolStretch = tuple[str, int, int, int]
"""(pool, from, until, milli-GPUs)."""

NodeTypes = Callable[[str], tuple[tuple[int, str], ...]]


def run_lines(run: DerivedRun, a_s: int, b_s: int, node_types: NodeTypes) -> list[Line]:
    """Charges, refunds, unfunded time over [a, b) and the commitment at b, summed per pool and field."""
    lines: dict[tuple[str, int], int] = {}
    for piece in run.pieces:
        if piece.a_s >= b_s:
            break
        if piece.b_s <= a_s or piece.class_ == SUSPENDED:
            continue
        what = UNFUNDED if piece.class_ == UNFUNDED_CLASS else CHARGED
        for pool, x, y, milli in pool_stretches(run, max(piece.a_s, a_s), min(piece.b_s, b_s), node_types):
            lines[pool, what] = lines.get((pool, what), 0) + milli * (y - x)
            given_back_s = y - max(x, run.refund_from_s)
            if given_back_s > 0:
                lines[pool, REFUNDED] = lines.get((pool, REFUNDED), 0) + milli * given_back_s
    left_s = remaining_contract_s(run, b_s) if run.contract_end_s > b_s else 0
    if left_s:
        for pool, _, _, milli in pool_stretches(run, b_s, b_s + 1, node_types):
            lines[pool, COMMITMENT] = lines.get((pool, COMMITMENT), 0) + milli * left_s
    return [(pool, what, amount) for (pool, what), amount in lines.items()]


def pool_stretches(run: DerivedRun, a_s: int, b_s: int, node_types: NodeTypes) -> list[PoolStretch]:
    """What the run holds in which pool over [a, b), cut where a node of it changes its GPU type."""
    if run.mixed:
        return list(_by_node(run, a_s, b_s, node_types))
    if len(run.pools) == 1 or len(set(run.pools)) == 1:
        return [(run.pools[0], a_s, b_s, run.gpus_milli)]
    by_pool: dict[str, int] = {}
    for pool, (_, milli, _) in zip(run.pools, run.placements, strict=True):
        by_pool[pool] = by_pool.get(pool, 0) + milli
    return [(pool, a_s, b_s, milli) for pool, milli in by_pool.items()]


def _by_node(run: DerivedRun, a_s: int, b_s: int, node_types: NodeTypes) -> Iterator[PoolStretch]:
    for node, milli, _ in run.placements:
        types = node_types(node) or ((a_s, run.terms.gpu_type or UNKNOWN_POOL),)
        for place, (since, pool) in enumerate(types):
            x = a_s if place == 0 else max(a_s, since)
            y = min(b_s, types[place + 1][0]) if place + 1 < len(types) else b_s
            if x < y:
                yield pool, x, y, milli
