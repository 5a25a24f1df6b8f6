"""From what happened to the log: every statement of every source, in the order and at the time it arrived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledger.units import HOUR_S
from tenure.demo import statements
from tenure.demo.chance import Chance
from tenure.demo.decided import decided, ticks
from tenure.demo.edits import edits
from tenure.demo.highlights import LateNode
from tenure.demo.lateness import Entry, log
from tenure.demo.reassigned import Reassigned, decision
from tenure.demo.reporting import Telling, told
from tenure.demo.span import Span
from tenure.demo.truth import NodeChange, Truth
from tenure.demo.wire import Statement

A_DAY_LATE_S: Final = 24 * HOUR_S
OPENING_LAG_S: Final = 2


def late_node(span: Span, truth: Truth, node: str) -> LateNode:
    """The first failure of `node`, told a day late, or as late as a short span allows."""
    since_s = next(change.at_s for change in truth.nodes if change.node == node and change.state == "down")
    return LateNode(node, since_s, since_s + min(A_DAY_LATE_S, (span.ends_s - since_s) * 3 // 4))


def entries(
    span: Span, truth: Truth, tellings: list[Telling], late: LateNode, moved: Reassigned, chance: Chance
) -> list[Entry]:
    """The whole log of the span, by recorded time."""
    said = [*decided(span), *ticks(span), decision(moved)]
    said += (s for s in _observed(span, truth, tellings, late, chance) if s.at_s + (s.lag_s or 0) <= span.ends_s)
    return log(span, said, chance)


def _observed(span: Span, truth: Truth, tellings: list[Telling], late: LateNode, chance: Chance) -> Iterator[Statement]:
    for change in truth.nodes:
        yield statements.node(change, _node_lag_s(span, change, late))
    for job in truth.jobs:
        yield statements.submitted(job)
    for telling in tellings:
        yield from told(span, telling)
    for requeue in truth.requeues:
        yield statements.requeued(requeue)
    for cancel in truth.cancelled:
        yield statements.cancelled(cancel)
    yield from edits(truth, chance)


def _node_lag_s(span: Span, change: NodeChange, late: LateNode) -> int | None:
    if change.at_s == span.opens_s:
        return OPENING_LAG_S
    if (change.node, change.at_s) == (late.node, late.since_s):
        return late.recorded_s - late.since_s
    return None
