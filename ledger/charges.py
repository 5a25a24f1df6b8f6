"""What one run adds to its account in a stretch of time (docs/accounting.md §4, §5). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ledger.hours import CHARGED, COMMITMENT, REFUNDED, UNFUNDED
from ledger.runs import SUSPENDED, UNKNOWN_POOL, DerivedRun, remaining_contract_s
from ledger.runs import UNFUNDED as UNFUNDED_CLASS

Line = tuple[str, int, int]
"""(pool, field of the account's sums, GPU-milliseconds)."""

NodeTypes = Callable[[str], tuple[tuple[int, str], ...]]


def run_lines(run: DerivedRun, a_s: int, b_s: int, node_types: NodeTypes) -> list[Line]:
    """Charges, refunds, unfunded time over [a, b) and the commitment at b, summed per pool and field."""
    lines: dict[tuple[str, int], int] = {}
    for piece in run.pieces:
        if piece.a_s >= b_s:
            break
        if piece.b_s <= a_s or piece.class_ == SUSPENDED:
            continue
        a, b = max(piece.a_s, a_s), min(piece.b_s, b_s)
        what = UNFUNDED if piece.class_ == UNFUNDED_CLASS else CHARGED
        _add(lines, run, what, a, b, node_types)
        given_back_from = max(a, run.refund_from_s)
        if given_back_from < b:
            _add(lines, run, REFUNDED, given_back_from, b, node_types)
    left_s = remaining_contract_s(run, b_s) if run.contract_end_s > b_s else 0
    if left_s:
        for pool, milli in _milli_by_pool(run, b_s, node_types):
            lines[pool, COMMITMENT] = lines.get((pool, COMMITMENT), 0) + milli * left_s
    return [(pool, what, amount) for (pool, what), amount in lines.items()]


def _add(
    lines: dict[tuple[str, int], int], run: DerivedRun, what: int, a_s: int, b_s: int, node_types: NodeTypes
) -> None:
    if run.mixed:
        for pool, amount in _mixed(run, a_s, b_s, node_types):
            lines[pool, what] = lines.get((pool, what), 0) + amount
        return
    for pool, milli in zip(run.pools, run.placements, strict=True):
        lines[pool, what] = lines.get((pool, what), 0) + milli[1] * (b_s - a_s)


def _mixed(run: DerivedRun, a_s: int, b_s: int, node_types: NodeTypes) -> Iterator[tuple[str, int]]:
    for node, milli, _ in run.placements:
        types = node_types(node) or ((a_s, run.terms.gpu_type or UNKNOWN_POOL),)
        for place, (since, pool) in enumerate(types):
            begin = a_s if place == 0 else max(a_s, since)
            until = min(b_s, types[place + 1][0]) if place + 1 < len(types) else b_s
            if begin < until:
                yield pool, milli * (until - begin)


def _milli_by_pool(run: DerivedRun, at_s: int, node_types: NodeTypes) -> Iterator[tuple[str, int]]:
    if run.mixed:
        yield from _mixed(run, at_s, at_s + 1, node_types)
    else:
        for pool, placed in zip(run.pools, run.placements, strict=True):
            yield pool, placed[1]
