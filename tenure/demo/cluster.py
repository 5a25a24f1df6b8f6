"""The machines of `aurora` and what will befall them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ledger.units import DAY_S, HOUR_S
from tenure.demo.chance import Chance
from tenure.demo.span import Span

CLUSTER: Final = "aurora"
H100: Final = "H100"
B200: Final = "B200"
POOLS: Final = (H100, B200)
GPUS_PER_NODE: Final = 8

IncidentKind = Literal["failure", "drain", "window", "removal"]


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node as bought: eight GPUs of one type."""

    name: str
    gpu_type: str


NODES: Final = (
    *(NodeSpec(f"h{n:03}", H100) for n in range(1, 21)),
    *(NodeSpec(f"b{n:03}", B200) for n in range(1, 13)),
)

GPUS: Final = {pool: GPUS_PER_NODE * sum(node.gpu_type == pool for node in NODES) for pool in POOLS}
"""GPUs of each pool, all nodes healthy: 160 H100 and 96 B200."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that takes a node away from `at_s`, for `lasts_s` once it is empty.

    A failure takes it at once; a drain waits for contracts; a window has a fixed opening, `notice_s` after
    the drain begins; a removed node is no longer part of the cluster until it is added again.
    """

    kind: IncidentKind
    node: str
    at_s: int
    lasts_s: int
    reason: str
    notice_s: int = 0


@dataclass(frozen=True, slots=True)
class Troubles:
    """All incidents by time, and the two nodes the story follows."""

    incidents: tuple[Incident, ...]
    late_node: str
    removed_node: str


FAILURES: Final = (
    "GPU has fallen off the bus (XID 79)",
    "double-bit ECC error (XID 48)",
    "NVLink error (XID 74)",
    "kernel panic",
    "lost contact with node",
    "power supply failed",
)
DRAINS: Final = (
    "row remapping pending (XID 63)",
    "correctable ECC errors rising",
    "InfiniBand port flapping",
    "fan replacement",
    "disk wear",
)
FAILURES_A_DAY: Final = 0.5
"""One failure per node every 64 days, as large clusters report."""
DRAINS_A_DAY: Final = 0.6


def troubles(span: Span, chance: Chance) -> Troubles:
    """Failures, drains, two maintenance windows and one removal, the same for the same chance."""
    late, removed, *others = (NODES[i].name for i in chance.permutation(len(NODES)))
    incidents = [
        Incident("failure", late, span.at(12, 9, 20), span.lasting(20 * HOUR_S), FAILURES[0]),
        Incident("removal", removed, span.at(16, 10), span.lasting(2 * DAY_S), "mainboard goes to its vendor"),
        *_windows(span, {late, removed}),
        *_failures(span, chance, others),
        *_drains(span, chance, others),
    ]
    ordered = sorted(incidents, key=lambda i: (i.at_s, i.node))
    return Troubles(tuple(ordered), late_node=late, removed_node=removed)


def _windows(span: Span, spared: set[str]) -> list[Incident]:
    """Planned maintenance: half the H100 nodes for new firmware, later six B200 nodes for cooling."""
    firmware = [n.name for n in NODES if n.gpu_type == H100][:10]
    cooling = [n.name for n in NODES if n.gpu_type == B200][:6]
    notice_s, lasts_s = span.lasting(6 * HOUR_S), span.lasting(4 * HOUR_S)
    return [
        Incident("window", node, at_s, lasts_s, reason, notice_s)
        for nodes, at_s, reason in (
            (firmware, span.at(9, 2), "planned maintenance: firmware"),
            (cooling, span.at(23, 2), "planned maintenance: cooling loop"),
        )
        for node in nodes
        if node not in spared
    ]


def _failures(span: Span, chance: Chance, nodes: list[str]) -> list[Incident]:
    count = max(2, round(FAILURES_A_DAY * span.days))
    at_s = span.opens_s + chance.uniform(0.02, 0.97, count) * span.days * DAY_S
    lasts_s = 3 * HOUR_S * chance.lognormal(0.0, 0.9, count)
    return [
        Incident(
            "failure",
            nodes[chance.integers(len(nodes))],
            int(at),
            int(lasts) + 600,
            FAILURES[chance.integers(len(FAILURES))],
        )
        for at, lasts in zip(at_s.tolist(), lasts_s.tolist(), strict=True)
    ]


def _drains(span: Span, chance: Chance, nodes: list[str]) -> list[Incident]:
    count = max(2, round(DRAINS_A_DAY * span.days))
    at_s = span.opens_s + chance.uniform(0.03, 0.93, count) * span.days * DAY_S
    lasts_s = chance.uniform(0.5 * HOUR_S, 5 * HOUR_S, count)
    return [
        Incident(
            "drain",
            nodes[chance.integers(len(nodes))],
            int(at),
            int(lasts),
            DRAINS[chance.integers(len(DRAINS))],
        )
        for at, lasts in zip(at_s.tolist(), lasts_s.tolist(), strict=True)
    ]
