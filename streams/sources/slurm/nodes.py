"""Node states and GPUs as Slurm reports them, to `node.observed`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.events.faults import told_of
from ledger.events.nodes import NodeObserved, NodeObservedData, NodeState
from ledger.units import epoch_s, instant
from streams.sources.config import DEFAULT_GPU_TYPE, SourceConfig
from streams.sources.identity import event_id
from streams.sources.reading import Known, Place, Reading, Refused, Skipped, Statement, Unreadable
from streams.sources.slurm.asked import or_unsaid
from streams.sources.slurm.gres import Gpus, gpus
from streams.sources.text import visible

_BASE: Final = frozenset({"IDLE", "MIXED", "MIX", "ALLOCATED", "ALLOC", "COMPLETING", "COMP", "COMPLETE"})
_DOWN: Final = frozenset(
    {"DOWN", "ERROR", "FAIL", "FAILING", "UNKNOWN", "UNK", "NOT_RESPONDING", "NO_RESPOND", "INVALID", "INVALID_REG",
     "INVAL"}
)  # fmt: skip
_DRAIN: Final = frozenset({"DRAIN", "DRAINING", "DRNG", "DRAINED"})
_PLANNED: Final = frozenset({"MAINT", "MAINTENANCE", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED", "FUTURE", "FUTR"})
_AT_WORK: Final = frozenset({"MIXED", "MIX", "ALLOCATED", "ALLOC", "COMPLETING", "COMP", "DRAINING", "DRNG"})
_HARMLESS: Final = frozenset(
    {"RESERVED", "RESV", "PLANNED", "PLND", "CLOUD", "DYNAMIC", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "POWER_DOWN",
     "POWERED_DOWN", "POWERING_DOWN", "POWER_UP", "POWERING_UP", "POW_DN", "POW_UP", "POWER_DRAIN", "BLOCKED",
     "UNDRAIN", "RES", "NET", "EXTERNAL", "RUNNING_JOB", "BLOCKED_NODE", "PERFCTRS", "NPC", "BLKD"}
)  # fmt: skip
_SUFFIXES: Final = {"*": "NOT_RESPONDING", "$": "MAINT", "@": "REBOOT", "^": "REBOOT", "-": "PLANNED",
                    "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
                    "+": "MIXED"}  # fmt: skip
_KNOWN: Final = _BASE | _DOWN | _DRAIN | _PLANNED | _HARMLESS
MAX_REASON: Final = 4_096


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """Nodes that are stated alike: sinfo groups them, every other command states one.

    `latest_s` is the latest instant it speaks of, `booted_s` the one of its boot, `reason_s` that at which its reason
    was set; 0 for none.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    gres: str
    tres: str = ""
    reason: str = ""
    cluster: str = ""
    latest_s: int = 0
    booted_s: int = 0
    reason_s: int = 0


NodePiece = tuple[NodeRecord | Refused | Skipped | Unreadable, Place, bytes]
"""A record or why there is none, where it stands and the bytes it was read from."""


def node_state(words: Iterable[str]) -> NodeState:
    """One state out of a base state and its flags: down before planned before drained. Raises Refused.

    A drain with work on the node is `draining`, one without is `planned_down`; maintenance and reboots are
    planned. Reserved, planned, cloud and powered-down nodes are available: their GPUs can be had.
    """
    said = set(spelled(words))
    strange = said - _KNOWN
    if strange or not said:
        raise Refused(
            "unknown_state",
            f"{','.join(sorted(strange)) or 'an empty state'} is no state of a Slurm node: correct the record, or "
            "ask for support of this Slurm version",
        )
    if said & _DOWN:
        return "planned_down" if said & {"MAINT", "MAINTENANCE"} and "DOWN" not in said else "down"
    if said & _PLANNED:
        return "planned_down"
    if said & _DRAIN:
        return "draining" if said & _AT_WORK else "planned_down"
    return "available"


def spelled(words: Iterable[str]) -> Iterator[str]:
    """Base state and flags, each a word, out of words, `IDLE+DRAIN` and suffixes."""
    for word in words:
        for part in word.upper().replace("+", " ").split():
            bare = part.rstrip("".join(_SUFFIXES))
            yield from (_SUFFIXES[suffix] for suffix in part[len(bare) :])
            if bare:
                yield bare


def gpu_type(found: Gpus, config: SourceConfig) -> str:
    """The type, several joined by `+`: a node is in one pool, and its mixture is one of its own."""
    return visible("+".join(found.types)) or config.gpu_type or DEFAULT_GPU_TYPE


def readings(
    pieces: Sequence[NodePiece],
    config: SourceConfig,
    stated_s: int | None,
) -> Iterator[Reading]:
    """A reading for every record; a node that is stated again, in another partition, is known."""
    latest = max((r.latest_s for r, _, _ in pieces if isinstance(r, NodeRecord)), default=0)
    at_s = next((s for s in (_configured(config), stated_s) if s is not None), latest)
    seen: set[tuple[str, str]] = set()
    for found, place, raw in pieces:
        match found:
            case NodeRecord():
                try:
                    yield _reading(found, config, at_s, seen, place)
                except Refused as refused:
                    yield Unreadable(refused.reason, refused.sentence, raw, place)
                except ValueError as wrong:
                    yield Unreadable(
                        "values_not_accepted", f"a value does not fit an event: {told_of(wrong)}", raw, place
                    )
            case Refused():
                yield Unreadable(found.reason, found.sentence, raw, place)
            case Skipped() | Unreadable():
                yield found


def gpus_of(record: NodeRecord) -> Gpus:
    """The GPUs it has, whatever its state. Raises GresWrong."""
    return gpus(record.gres) or or_unsaid(record.tres) or Gpus(0)


def _configured(config: SourceConfig) -> int | None:
    at = config.nodes_at or config.snapshot_at
    return None if at is None else epoch_s(at)


def _reading(record: NodeRecord, config: SourceConfig, at_s: int, seen: set[tuple[str, str]], place: Place) -> Reading:
    found = gpus_of(record)
    if not found.milli:
        return Skipped("node_without_gpus", place)
    if not record.names or not at_s:
        raise Refused("no_instant", "the node list has no time of its own: set snapshot_at to when it was taken")
    state = node_state(record.words)
    cluster = visible(record.cluster) or config.cluster
    events = []
    for name in record.names:
        data = NodeObservedData(
            cluster=cluster,
            node=visible(name),
            gpu_type=gpu_type(found, config),
            gpus_milli=found.milli,
            state=state,
            reason=visible(record.reason)[:MAX_REASON],
            booted_at=instant(record.booted_s) if record.booted_s else None,
        )
        time = instant(at_s)
        events.append(
            NodeObserved(id=event_id("node", name, time, data), source=config.source_name, time=time, data=data)
        )
    keys = {(cluster, name) for name in record.names}
    known = keys <= seen
    seen |= keys
    return Known("node", tuple(events), place) if known else Statement("node", tuple(events), place)
