"""The facts of one job and its attempts: registers that any order of statements fills alike."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from ledger.statements import (
    End,
    Full,
    Idle,
    Start,
    Submitted,
    Terms,
    Toggle,
    Updated,
    end_of,
    greater,
    insert,
)
from ledger.units import FOREVER_S

NO_TERMS = Terms()


@dataclass(slots=True)
class Attempt:
    """The registers of one run. `reassigned` is the account a decision moved it to."""

    name: str
    full: Full | None = None
    start: Start | None = None
    end: End | None = None
    toggles: list[Toggle] = field(default_factory=list)
    checkpoints_s: list[int] = field(default_factory=list)
    idle: Idle | None = None
    reassigned: str | None = None

    def put_full(self, statement: Full) -> bool:
        """A full statement beats partial ones up to its own stamp; its end is a register of its own."""
        changed = False
        if self.full is None or greater(statement, self.full):
            changed = True
            self.full = statement
            self.toggles = [t for t in self.toggles if t[:3] > statement[:3]]
            if self.start is not None and self.start[:3] <= statement[:3]:
                self.start = None
        told = end_of(statement)
        return (told is not None and self.put_end(told)) or changed

    def put_start(self, statement: Start) -> bool:
        """Later than the full statement and than the start known, or it says nothing new."""
        if self.full is not None and statement[:3] <= self.full[:3]:
            return False
        if self.start is not None and not greater(statement, self.start):
            return False
        self.start = statement
        return True

    def put_end(self, statement: End) -> bool:
        """The greatest end wins; "still running" never gets here."""
        if self.end is not None and not greater(statement, self.end):
            return False
        self.end = statement
        return True

    def put_toggle(self, statement: Toggle) -> bool:
        """Pauses the full statement has not spoken of."""
        if self.full is not None and statement[:3] <= self.full[:3]:
            return False
        return insert(self.toggles, statement)

    def put_checkpoint(self, at_s: int) -> bool:
        """Every instant at which progress was banked."""
        place = bisect_left(self.checkpoints_s, at_s)
        if place < len(self.checkpoints_s) and self.checkpoints_s[place] == at_s:
            return False
        self.checkpoints_s.insert(place, at_s)
        return True

    def put_idle(self, statement: Idle) -> bool:
        """The latest word on idleness."""
        if self.idle is not None and not greater(statement, self.idle):
            return False
        self.idle = statement
        return True

    def started_s(self) -> int | None:
        """When it began, as far as anybody told."""
        if self.start is not None:
            return self.start.at_s
        return self.full.started_s if self.full is not None else None

    def asked_s(self) -> tuple[int | None, ...]:
        """When it was submitted and eligible, as its full statement tells: a wait may begin there."""
        return (self.full.submitted_s, self.full.eligible_s) if self.full is not None else ()

    def record(self) -> tuple[Any, ...]:
        """Canonical record."""
        return (
            self.name,
            self.full,
            self.start,
            self.end,
            self.toggles,
            self.checkpoints_s,
            self.idle,
            self.reassigned,
        )


@dataclass(slots=True)
class JobFacts:
    """The registers of one job: its terms over time, ends without attempt, attempts by name."""

    job: str
    submitted: list[Submitted] = field(default_factory=list)
    updated: list[Updated] = field(default_factory=list)
    ended: list[End] = field(default_factory=list)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    seq: int = 0
    recorded_s: int = 0

    def attempt(self, name: str) -> Attempt:
        """The attempt of that name, known from now on."""
        found = self.attempts.get(name)
        if found is None:
            found = self.attempts[name] = Attempt(name)
        return found

    def terms_at(self, at_s: int) -> Terms:
        """Terms in force at an instant (docs/accounting.md §1)."""
        if not self.submitted:
            return NO_TERMS
        chosen = self.submitted[0]
        for statement in self.submitted:
            if statement.at_s > at_s:
                break
            chosen = statement
        base, since = chosen.terms, chosen[:3]
        if not self.updated:
            return base
        changes: dict[str, Any] = {}
        for update in self.updated:
            if update.at_s > at_s:
                break
            if update[:3] > since:
                changes.update(update.changes)
        return base._replace(**changes) if changes else base

    def reaches_back(self) -> bool:
        """Whether what is said next may change time long before it.

        A refund, or a pause placed before the end; an end told of the job alone, which a start or an end of one
        attempt hands over to another; a wait that takes its terms from whichever run comes next.
        """
        if self.ended or (len(self.attempts) > 1 and not self.submitted):
            return True
        for attempt in self.attempts.values():
            if attempt.end is not None and attempt.end.outcome == "node_failure":
                return True
            if attempt.full is not None and attempt.full.suspended_s:
                return True
        return False

    def overlaps(self) -> dict[tuple[str, str], str]:
        """Pairs of attempts, by start, that hold a node at the same time, with the node.

        While neither has ended nothing is wrong: the end of the first may be on its way.
        """
        if len(self.attempts) < 2:  # noqa: PLR2004 -- it takes two
            return {}
        found: dict[tuple[str, str], str] = {}
        held = self._held()
        for place, (_, a, end_a, first) in enumerate(held):
            for later in range(place + 1, len(held)):
                start_b, b, end_b, second = held[later]
                if start_b >= end_a:
                    break
                if start_b < min(end_a, end_b) < FOREVER_S and (nodes := first & second):
                    found[a, b] = min(nodes)
        return found

    def _held(self) -> list[tuple[int, str, int, frozenset[str]]]:
        """(start, attempt, end, nodes) of the attempts whose start is known, by start."""
        held = []
        for name, attempt in self.attempts.items():
            source = attempt.start or attempt.full
            start_s = attempt.started_s()
            if source is not None and start_s is not None:
                end_s = attempt.end.at_s if attempt.end is not None else FOREVER_S
                held.append((start_s, name, end_s, frozenset(p[0] for p in source.placements)))
        return sorted(held, key=lambda h: h[:2])

    def record(self) -> tuple[Any, ...]:
        """Canonical record: attempts by name, so that arrival order leaves no trace."""
        attempts = [self.attempts[name].record() for name in sorted(self.attempts)]
        return ("job", self.job, self.submitted, self.updated, self.ended, attempts)
