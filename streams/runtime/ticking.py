"""Which clusters of a partition are due a tick from their owner. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.state import State
from ledger.units import HOUR_S, instant
from streams.backfill import tick
from streams.processor import Processor


def ticks(processor: Processor, at_s: int) -> Iterator[tuple[str, bytes]]:
    """(cluster, event) for every cluster that lives."""
    for cluster, ledger in processor.ledgers.items():
        if cluster and lives(ledger.book.state, at_s):
            yield cluster, tick(cluster, instant(at_s)).model_dump_json(exclude_none=True).encode()


def lives(state: State, at_s: int) -> bool:
    """Whether the clock goes on for a cluster: its book is open, and was not left behind longer than the horizon.

    What was imported from years ago has its ticks in its log, and a tick of today would close all the years between. A
    cluster that was never ticked lives if a node of its was seen: the first tick closes no more than the horizon.
    """
    if state.opens_s is None:
        return False
    seen_s = (node.statements[-1].at_s for node in state.nodes.values() if node.statements)
    since_s = state.ticked_s or max((state.opens_s, *seen_s))
    return since_s < at_s <= since_s + state.policy_at(at_s).horizon_h * HOUR_S
