"""What must be in the log before a history: when the book opens, which nodes there are, how the claim is divided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from typing import Final

from ledger.events import ClusterEvent
from ledger.events.decisions import ChildShare, PolicySet, PolicySetData, SharesSet, SharesSetData
from ledger.events.jobs import JobSubmitted, RunObserved
from ledger.events.nodes import NodeObserved, NodeObservedData
from ledger.units import GPU_MILLI, HOUR_S, epoch_s, hour_ceil_s, hour_floor_s, instant
from streams.sources.config import DEFAULT_GPU_TYPE, WHOLE_PERCENT, ClusterConfig, ConfigError, ShareSet
from streams.sources.identity import event_id
from streams.sources.slurm.nodelist import ListWrong, expand

DEFAULT_HORIZON_H: Final = 35 * 24
MAX_HORIZON_H: Final = 24 * 3_660
"""As far as `policy.set` can say: ten years."""
INFERRED: Final = "inferred from placements: the most GPUs ever in use at once"
DECLARED: Final = "declared in the source's configuration"
_PERCENT_STEP: Final = Decimal("0.000001")


@dataclass(slots=True)
class ClusterHistory:
    """What an import has shown of one cluster, as far as setting it up needs it."""

    first_s: int | None = None
    last_s: int | None = None
    accounts: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    runs: dict[tuple[str, str], RunObserved] = field(default_factory=dict)

    def run(self, event: RunObserved) -> None:
        """Note a run; of several statements the one that is latest by its time counts."""
        data = event.data
        first_s = epoch_s(data.started_at)
        if data.submitted_at is not None:
            first_s = min(first_s, epoch_s(data.submitted_at))
        self._span(first_s, epoch_s(data.ended_at or event.time))
        self._account(data.account)
        key = (data.job, data.attempt)
        before = self.runs.get(key)
        if before is None or before.time <= event.time:
            self.runs[key] = event

    def job(self, event: JobSubmitted) -> None:
        """Note a job that waits."""
        self._span(epoch_s(event.time), epoch_s(event.time))
        self._account(event.data.account)

    def _account(self, account: str | None) -> None:
        if account is not None:
            self.accounts.add(account)

    def _span(self, first_s: int, last_s: int) -> None:
        self.first_s = first_s if self.first_s is None else min(self.first_s, first_s)
        self.last_s = last_s if self.last_s is None else max(self.last_s, last_s)


@dataclass(slots=True)
class History:
    """What an import has shown so far, cluster by cluster."""

    clusters: dict[str, ClusterHistory] = field(default_factory=lambda: defaultdict(ClusterHistory))

    def see(self, event: ClusterEvent) -> None:
        """Take note of one event."""
        match event:
            case RunObserved():
                self.clusters[event.data.cluster].run(event)
            case JobSubmitted():
                self.clusters[event.data.cluster].job(event)
            case NodeObserved():
                self.clusters[event.data.cluster].stated.add(event.data.node)
            case _:
                pass


def seen(events: Iterable[ClusterEvent], history: History) -> Iterator[ClusterEvent]:
    """Pass the events on, noted in the history."""
    for event in events:
        history.see(event)
        yield event


def preamble(config: ClusterConfig, history: History) -> list[ClusterEvent]:
    """Policy, nodes and shares of every cluster the import has shown, in force from the instant its book opens.

    Accounting of several clusters names them in its rows; what the configuration declares is for its own.
    Raises ConfigError.
    """
    names = sorted({config.cluster, *history.clusters})
    return [event for name in names for event in _cluster(config, name, history.clusters[name])]


def _cluster(config: ClusterConfig, name: str, history: ClusterHistory) -> list[ClusterEvent]:
    if history.first_s is None and (config.opens_at is None or name != config.cluster):
        return []
    own = config if name == config.cluster else config.model_copy(update={"cluster": name, "nodes": ()})
    opens_at = own.opens_at or instant(hour_floor_s(history.first_s or 0))
    nodes_at = own.nodes_at or opens_at
    declared = _declared(own, nodes_at) if name == config.cluster else []
    known = {event.data.node for event in declared} | history.stated
    inferred = _inferred(own, history, known, nodes_at) if own.infer_nodes else []
    return [_policy(own, history, opens_at), *declared, *inferred, *_shares(own, history, opens_at)]


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


def _node(config: ClusterConfig, at: datetime, name: str, gpu_type: str, milli: int, reason: str) -> NodeObserved:
    data = NodeObservedData(
        cluster=config.cluster,
        node=name,
        gpu_type=gpu_type,
        gpus_milli=milli,
        state="available",
        reason=reason,
    )
    return NodeObserved(id=event_id("node", name, at, data), source=config.source_name, time=at, data=data)


def _declared(config: ClusterConfig, at: datetime) -> list[NodeObserved]:
    events = []
    for nodes in config.node_sets():
        try:
            names = expand(nodes.names)
        except ListWrong as wrong:
            raise ConfigError(f"nodes.names: {wrong}; write a list like gn[01-04]") from wrong
        events += [_node(config, at, n, nodes.gpu_type, nodes.gpus * GPU_MILLI, DECLARED) for n in names]
    return events


def _inferred(config: ClusterConfig, history: ClusterHistory, known: set[str], at: datetime) -> list[NodeObserved]:
    """A node for every place a run lay on that nobody stated or declared."""
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for event in history.runs.values():
        start_s, end_s = epoch_s(event.data.started_at), epoch_s(event.data.ended_at or event.time)
        for placement in event.data.placements:
            changes[placement.node] += [(start_s, placement.gpus_milli), (end_s, -placement.gpus_milli)]
            types[placement.node][event.data.gpu_type or config.gpu_type or DEFAULT_GPU_TYPE] += 1
    return [
        _node(config, at, name, types[name].most_common(1)[0][0], peak_milli(changes[name]), INFERRED)
        for name in sorted(changes.keys() - known)
    ]


def peak_milli(changes: list[tuple[int, int]]) -> int:
    """The most in use at once, up to whole GPUs. What ends at an instant makes room for what starts at it."""
    peak = now = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    return -(-peak // GPU_MILLI) * GPU_MILLI


def _shares(config: ClusterConfig, history: ClusterHistory, at: datetime) -> list[SharesSet]:
    return [_share_set(config, share, _children(share, history.accounts), at) for share in config.shares]


def _children(share: ShareSet, accounts: set[str]) -> tuple[ChildShare, ...]:
    """The children with their percent; equal parts are rounded down, so that they never sum to more than all."""
    if not share.equal:
        return tuple(ChildShare(child=name, share_percent=part) for name, part in share.children.items())
    prefix = share.parent + "/"
    names = sorted({a.removeprefix(prefix).split("/")[0] for a in accounts if a.startswith(prefix)})
    if not names:
        return ()
    part = (Decimal(WHOLE_PERCENT) / len(names)).quantize(_PERCENT_STEP, ROUND_DOWN)
    return tuple(ChildShare(child=name, share_percent=part) for name in names)


def _share_set(config: ClusterConfig, share: ShareSet, children: tuple[ChildShare, ...], at: datetime) -> SharesSet:
    data = SharesSetData(
        cluster=config.cluster,
        parent=share.parent,
        children=children,
        author=config.author,
        reason="import of a history",
        expected_revision=0,
        effective_at=at,
        backdated=True,
    )
    return SharesSet(id=event_id("shares", share.parent, at, data), source=config.source_name, time=at, data=data)
