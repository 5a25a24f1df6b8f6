"""The timeline of one node: what it could give, and whether it was healthy, over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.statements import NodeStatement, insert
from ledger.units import FOREVER_S

HEALTHY = "available"
UNPLANNED = "down"


class Stretch(NamedTuple):
    """A node over [a, b): `state` is '' before its first statement and where it is removed."""

    a_s: int
    b_s: int
    gpus_milli: int
    state: str
    gpu_type: str

    @property
    def healthy_milli(self) -> int:
        """milli-GPUs that count as healthy capacity."""
        return self.gpus_milli if self.state == HEALTHY else 0

    @property
    def unavailability(self) -> str:
        """`planned` or `unplanned`; '' while healthy."""
        if self.state == HEALTHY:
            return ""
        return "unplanned" if self.state == UNPLANNED else "planned"


def _stretch(a_s: int, b_s: int, statement: NodeStatement | None, gpu_type: str) -> Stretch:
    if statement is None or statement.state == "removed":
        return Stretch(a_s, b_s, 0, "", gpu_type)
    return Stretch(a_s, b_s, statement.gpus_milli, statement.state, gpu_type)


@dataclass(slots=True)
class Node:
    """All statements of one node inside the horizon, and the last one before it."""

    name: str
    statements: list[NodeStatement] = field(default_factory=list)

    def put(self, statement: NodeStatement) -> bool:
        """Take a statement; False for a repeat."""
        return insert(self.statements, statement)

    def next_after(self, statement: NodeStatement) -> int:
        """When the statement stops being in force, were it in the timeline."""
        later = [s.at_s for s in self.statements if s[:3] > statement[:3] and s != statement]
        return min(later, default=FOREVER_S)

    def stretches(self, a_s: int, b_s: int) -> list[Stretch]:
        """The node over [a, b) without gaps, cut where statements change it.

        Before the first statement and where the node is removed it has capacity 0 and the GPU type that
        `type_at` tells.
        """
        statements = self.statements
        last = statements[-1]
        if last.at_s <= a_s and last.gpu_type:
            return [Stretch(a_s, b_s, last.gpus_milli, last.state, last.gpu_type)]
        found: list[Stretch] = []
        kind = self.type_at(a_s)
        begin = a_s
        current: NodeStatement | None = None
        for statement in statements:
            if statement.at_s > begin and begin < b_s:
                until = min(statement.at_s, b_s)
                found.append(_stretch(begin, until, current, kind))
                begin = until
            current = statement
            kind = statement.gpu_type or kind
        if begin < b_s:
            found.append(_stretch(begin, b_s, current, kind))
        return found

    def type_at(self, at_s: int) -> str:
        """GPU type by the last `node.observed` up to an instant, else by the first; '' if there is none."""
        found = ""
        for statement in self.statements:
            if statement.at_s > at_s and found:
                break
            if statement.gpu_type:
                found = statement.gpu_type
        return found

    def types(self) -> tuple[tuple[int, str], ...]:
        """(from when, GPU type), one entry per change; the first holds for all time before it too."""
        changes: list[tuple[int, str]] = []
        for statement in self.statements:
            if statement.gpu_type and (not changes or changes[-1][1] != statement.gpu_type):
                changes.append((statement.at_s, statement.gpu_type))
        return tuple(changes)

    def forget_before(self, at_s: int) -> bool:
        """Drop what is superseded before an instant, keeping the statement in force then and the GPU type known."""
        keep = 0
        for place, statement in enumerate(self.statements):
            if statement.at_s <= at_s:
                keep = place
        while keep and not any(s.gpu_type for s in self.statements[keep : keep + 1]):
            keep -= 1
        if not keep:
            return False
        del self.statements[:keep]
        return True

    def superseded_before(self, statement: NodeStatement, at_s: int) -> bool:
        """Whether a later statement known by `at_s` replaces this one: nothing from `at_s` on would change."""
        return statement.at_s < at_s and any(s.at_s <= at_s and s[:3] > statement[:3] for s in self.statements)

    def record(self) -> tuple[object, ...]:
        """Canonical record."""
        return ("node", self.name, self.statements)
