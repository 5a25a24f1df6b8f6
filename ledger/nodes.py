"""The timeline of one node: what it could give, and whether it was healthy, over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
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


def _told(statement: NodeStatement) -> tuple[str, int, str]:
    """What a statement says that is booked."""
    return statement.state, statement.gpus_milli, statement.gpu_type


@dataclass(slots=True)
class Node:
    """All statements of one node inside the horizon, and the last one before it."""

    name: str
    statements: list[NodeStatement] = field(default_factory=list)

    def put(self, statement: NodeStatement) -> bool:
        """Take a statement; False for a repeat."""
        return insert(self.statements, statement)

    def goes_on(self, statement: NodeStatement) -> bool:
        """Whether a statement is later than all known and says what the last one says, under an id of its own."""
        if not self.statements:
            return False
        last = self.statements[-1]
        return last[:3] < statement[:3] and last[1:3] != statement[1:3] and _told(last) == _told(statement)

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
        return tuple((s.at_s, s.gpu_type) for s in self._retyping())

    def _retyping(self) -> list[NodeStatement]:
        """The statements that tell of another GPU type than those before them."""
        found: list[NodeStatement] = []
        for statement in self.statements:
            if statement.gpu_type and (not found or found[-1].gpu_type != statement.gpu_type):
                found.append(statement)
        return found

    def edges(self) -> list[int]:
        """Instants at which the node turns into something else; seeing it again as it was is none."""
        first = [s.at_s for s in self.statements[:1]]
        return first + [b.at_s for a, b in pairwise(self.statements) if _told(a) != _told(b)]

    def turns_by(self, statement: NodeStatement) -> list[int]:
        """Edges that a statement of the timeline makes: at its own instant, and where the next one takes over."""
        place = len(self.statements) - 1
        while self.statements[place] != statement:
            place -= 1
        if place and _told(self.statements[place - 1]) == _told(statement):
            return []
        following = self.statements[place + 1 : place + 2]
        return [statement.at_s, *(s.at_s for s in following if s.at_s > statement.at_s)]

    def forget_before(self, at_s: int) -> bool:
        """Drop what is superseded before an instant, keeping the statement in force then and the GPU type known.

        Where the type ever changed each change stays: a run that lasts goes on in the pool in which it started.
        """
        keep = 0
        for place, statement in enumerate(self.statements):
            if statement.at_s <= at_s:
                keep = place
        while keep and not any(s.gpu_type for s in self.statements[keep : keep + 1]):
            keep -= 1
        turns = self._retyping() if keep else []
        kept = [s for s in turns if s in self.statements[:keep]] if len(turns) > 1 else []
        if keep == len(kept):
            return False
        self.statements[:keep] = kept
        return True

    def superseded_before(self, statement: NodeStatement, at_s: int) -> bool:
        """Whether a later statement known by `at_s` replaces this one: nothing from `at_s` on would change."""
        return statement.at_s < at_s and any(s.at_s <= at_s and s[:3] > statement[:3] for s in self.statements)

    def record(self) -> tuple[object, ...]:
        """Canonical record."""
        return ("node", self.name, self.statements)
