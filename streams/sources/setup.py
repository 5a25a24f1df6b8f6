"""What must be in the log before a history: when the book opens, which nodes there are, how the claim is divided."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from types import MappingProxyType
from typing import Final

from ledger.events import ClusterEvent
from ledger.events.decisions import ChildShare, PolicySet, PolicySetData, SharesSet, SharesSetData
from ledger.events.nodes import NodeObserved
from ledger.state import State
from ledger.tree import EVERY_POOL, Revision
from ledger.units import GPU_MILLI, HOUR_S, epoch_s, hour_ceil_s, hour_floor_s, instant
from streams.sources.assuming import Ground, assumed_nodes, node_statement
from streams.sources.config import WHOLE_PERCENT, ClusterConfig, ConfigError, ShareSet
from streams.sources.history import ClusterHistory, History
from streams.sources.identity import event_id
from streams.sources.slurm.nodelist import ListWrong, expand

DEFAULT_HORIZON_H: Final = 35 * 24
MAX_HORIZON_H: Final = 24 * 3_660
"""As far as `policy.set` can say: ten years."""
DECLARED: Final = "declared in the source's configuration"
_PERCENT_STEP: Final = Decimal("0.000001")


def preamble(
    config: ClusterConfig, history: History, books: Mapping[str, State] = MappingProxyType({})
) -> list[ClusterEvent]:
    """Policy, nodes and shares of every cluster the import has shown, in force from the instant its book opens.

    Accounting of several clusters names them in its rows; what the configuration declares is for its own. Of a cluster
    that has a book, only what that book does not know yet. Raises ConfigError.
    """
    names = sorted({config.cluster, *history.clusters})
    return [event for name in names for event in _cluster(config, name, history.clusters[name], books.get(name))]


def is_open(book: State | None, begins_s: int | None = None) -> bool:
    """Whether it is settled where the book begins: decided, hours are closed, or nodes were there at `begins_s`."""
    if book is None or book.opens_s is None:
        return False
    return book.policies.opens_s is not None or bool(book.hours) or (begins_s is not None and book.opens_s <= begins_s)


def _cluster(config: ClusterConfig, name: str, history: ClusterHistory, book: State | None) -> list[ClusterEvent]:
    mine, begins_s = name == config.cluster, history.first_s
    tells = begins_s is not None or (config.opens_at is not None and mine)
    opened = is_open(book, begins_s)
    if not tells and not opened:
        return []
    own = config if mine else config.model_copy(update={"cluster": name, "nodes": ()})
    opens_at = own.opens_at or instant(hour_floor_s(begins_s or 0))
    declared = _declared(own, own.nodes_at or opens_at) if tells and mine else []
    ground = Ground(own, history, book, opened, *_begins(history, book if opened else None, epoch_s(opens_at)))
    assumed = assumed_nodes(ground, {event.data.node for event in declared}) if own.infer_nodes else []
    policy = [] if opened else [_policy(own, history, opens_at)]
    shares = _shares(own, history, opens_at, book) if tells else []
    return [*policy, *declared, *assumed, *shares]


def _begins(history: ClusterHistory, opened: State | None, opens_s: int) -> tuple[int, int | None]:
    """Where the book opens, and where the import begins in it; None where it tells of no job."""
    if opened is None or opened.opens_s is None:
        return opens_s, opens_s
    if history.first_s is None:
        return opened.opens_s, None
    return opened.opens_s, max(opened.opens_s, hour_floor_s(history.first_s))


def _policy(config: ClusterConfig, history: ClusterHistory, opens_at: datetime) -> PolicySet:
    """The opening, and a horizon over the whole import where it is longer than the usual one."""
    span_h = max(0, hour_ceil_s(history.last_s or 0) - epoch_s(opens_at)) // HOUR_S
    longer = min(MAX_HORIZON_H, span_h + DEFAULT_HORIZON_H) if span_h > DEFAULT_HORIZON_H else None
    data = PolicySetData(
        cluster=config.cluster,
        opens_at=opens_at,
        horizon_h=longer,
        author=config.author,
        reason="import of a history",
    )
    return PolicySet(
        id=event_id("policy", config.cluster, opens_at, data),
        source=config.source_name,
        time=opens_at,
        data=data,
    )


def _declared(config: ClusterConfig, at: datetime) -> list[NodeObserved]:
    events = []
    for nodes in config.node_sets():
        try:
            names = expand(nodes.names)
        except ListWrong as wrong:
            raise ConfigError(f"nodes.names: {wrong}; write a list like gn[01-04]") from wrong
        events += [node_statement(config, at, n, nodes.gpu_type, nodes.gpus * GPU_MILLI, DECLARED) for n in names]
    return events


def _shares(config: ClusterConfig, history: ClusterHistory, at: datetime, book: State | None) -> list[SharesSet]:
    made = []
    for share in config.shares:
        known = book.shares.revisions.get((EVERY_POOL, share.parent)) if book is not None else None
        if not known:
            made.append(_share_set(config, share.parent, _children(share, history.accounts), at))
        elif book is not None and share.equal and (children := _joined(share, history.accounts, known[-1])):
            since_s = max(known[-1].effective_s, book.horizon_s)
            made.append(_share_set(config, share.parent, children, instant(since_s), known[-1].revision))
    return made


def _children(share: ShareSet, accounts: set[str]) -> tuple[ChildShare, ...]:
    """The children with their percent."""
    if not share.equal:
        return tuple(ChildShare(child=name, share_percent=part) for name, part in share.children.items())
    return _equally(_named(share, accounts))


def _named(share: ShareSet, accounts: set[str]) -> set[str]:
    """The children of the parent that accounts name."""
    prefix = share.parent + "/"
    return {a.removeprefix(prefix).split("/")[0] for a in accounts if a.startswith(prefix)}


def _equally(names: Collection[str]) -> tuple[ChildShare, ...]:
    """Equal parts, rounded down, so that they never sum to more than all."""
    if not names:
        return ()
    part = (Decimal(WHOLE_PERCENT) / len(names)).quantize(_PERCENT_STEP, ROUND_DOWN)
    return tuple(ChildShare(child=name, share_percent=part) for name in sorted(names))


def _joined(share: ShareSet, accounts: set[str], last: Revision) -> tuple[ChildShare, ...]:
    """Equal parts of those in the last set and of whom the import names besides; nothing where there are none.

    Where the last set does not divide equally, somebody has decided otherwise, and it stands.
    """
    had = {c.child: c for c in last.children}
    as_imported = {c.child: c.share_percent for c in _equally(had)}
    names = had.keys() | _named(share, accounts)
    if names == had.keys() or as_imported != {name: Decimal(c.percent) for name, c in had.items()}:
        return ()
    return tuple(
        c.model_copy(update={"slot_limit_milli": had[c.child].slot_limit_milli}) if c.child in had else c
        for c in _equally(names)
    )


def _share_set(
    config: ClusterConfig, parent: str, children: tuple[ChildShare, ...], at: datetime, revision: int = 0
) -> SharesSet:
    """The set that follows `revision`."""
    data = SharesSetData(
        cluster=config.cluster,
        parent=parent,
        children=children,
        author=config.author,
        reason="import of a history",
        expected_revision=revision,
        effective_at=at,
        backdated=True,
    )
    return SharesSet(id=event_id("shares", parent, at, data), source=config.source_name, time=at, data=data)
