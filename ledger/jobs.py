"""The facts of one job and its attempts: registers that any order of statements fills alike."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


class Life(NamedTuple):
    """What counts of an attempt's starts and ends; `again` is the second start, from which on none does.

    Without a `start` of its own, the full statement tells of it.
    """

    start: Start | None
    end: End | None
    again: Start | None


@dataclass(slots=True)
class Attempt:
    """The registers of one run.

    `reassigned` is the account a decision moved it to, `orders` when it was ordered off and by which plan, by time.
    """

    name: str
    full: Full | None = None
    starts: tuple[Start, ...] = ()
    ends: tuple[End, ...] = ()
    toggles: list[Toggle] = field(default_factory=list)
    checkpoints_s: list[int] = field(default_factory=list)
    idle: Idle | None = None
    reassigned: str | None = None
    orders: tuple[tuple[int, str], ...] = ()

    def put_full(self, statement: Full) -> bool:
        """The greatest that tells of an end, else the greatest; one that does settles what was said up to its stamp.

        One that says "still running" settles nothing for good: one of an earlier stamp may yet tell of the end.
        """
        if self.full is not None and not _more_final(statement, self.full):
            return False
        self.full = statement
        if statement.ended_s is not None:
            stamp = statement[:3]
            self.starts = tuple(s for s in self.starts if s[:3] > stamp)
            self.ends = tuple(e for e in self.ends if e[:3] > stamp)
            self.toggles = [t for t in self.toggles if t[:3] > stamp]
        return True

    def put_start(self, statement: Start) -> bool:
        """A start, in the order of stamps; which of them counts depends on the ends."""
        starts = list(self.starts)
        if self._settled(statement) or not insert(starts, statement):
            return False
        self.starts = tuple(starts)
        return True

    def put_end(self, statement: End) -> bool:
        """An end, in the order of stamps; "still running" never gets here."""
        ends = list(self.ends)
        if self._settled(statement) or not insert(ends, statement):
            return False
        self.ends = tuple(ends)
        return True

    def _settled(self, statement: Start | End | Toggle) -> bool:
        """Whether a full statement of the ended run has spoken after it."""
        return self.full is not None and self.full.ended_s is not None and statement[:3] <= self.full[:3]

    def put_toggle(self, statement: Toggle) -> bool:
        """Pauses no full statement of the ended run has spoken of."""
        return not self._settled(statement) and insert(self.toggles, statement)

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

    def put_order(self, at_s: int, plan: str) -> bool:
        """It is ordered off."""
        if (at_s, plan) in self.orders:
            return False
        self.orders = tuple(sorted((*self.orders, (at_s, plan))))
        return True

    def withdraw(self, plan: str) -> bool:
        """The scheduler would not carry the plan's order out."""
        before, self.orders = self.orders, tuple(order for order in self.orders if order[1] != plan)
        return self.orders != before

    @property
    def restarts(self) -> bool:
        """Whether more than one start is told of, so that it depends on the ends which one counts."""
        if self.full is None:
            return len(self.starts) > 1
        return bool(self.starts) and self.starts[-1][:3] > self.full[:3]

    def life(self, of_job: Sequence[End] = ()) -> Life:
        """What counts of its starts and ends, `of_job` being those told of the job alone (docs/accounting.md §1)."""
        full, ends = self.full, self.ends
        if full is not None and (of_full := end_of(full)) is not None:
            ends = (of_full, *ends)
        if not self.restarts:  # of most one start is told
            start = self.starts[0] if self.starts and full is None else None
            return Life(start, ends[-1] if ends else None, None)
        starts = self.starts if full is None else tuple(s for s in self.starts if s[:3] > full[:3])
        again = _second(starts, (*ends, *of_job), None if full is None else full.started_s)
        if again is not None:
            starts = starts[: starts.index(again)]
            ends = tuple(e for e in ends if e[:3] < again[:3])
        return Life(starts[-1] if starts else None, ends[-1] if ends else None, again)

    def spoken(self) -> list[Toggle]:
        """The pauses told after the full statement."""
        full = self.full
        return self.toggles if full is None else [t for t in self.toggles if t[:3] > full[:3]]

    def instants(self) -> list[int]:
        """When it is told to have started or ended, whatever counts."""
        of_full = () if self.full is None else (self.full.started_s, self.full.ended_s)
        told = (*of_full, *(s.at_s for s in self.starts), *(e.at_s for e in self.ends))
        return [at for at in told if at is not None]

    def started_s(self, of_job: Sequence[End] = ()) -> int | None:
        """When it began, as far as anybody told."""
        if self.full is None and len(self.starts) == 1:
            return self.starts[0].at_s
        start = self.life(of_job).start if self.restarts else None
        if start is not None:
            return start.at_s
        return self.full.started_s if self.full is not None else None

    def asked_s(self) -> tuple[int | None, ...]:
        """When it was submitted and eligible, as its full statement tells: a wait may begin there."""
        return (self.full.submitted_s, self.full.eligible_s) if self.full is not None else ()

    def record(self) -> tuple[Any, ...]:
        """Canonical record."""
        return (
            self.name,
            self.full,
            self.starts,
            self.ends,
            self.toggles,
            self.checkpoints_s,
            self.idle,
            self.reassigned,
            self.orders,
        )


def _more_final(a: Full, b: Full) -> bool:
    """Whether a is believed over b: that the run ended over that it runs, whatever their times; else by stamp."""
    if (a.ended_s is None) != (b.ended_s is None):
        return a.ended_s is not None
    return greater(a, b)


def _second(starts: Sequence[Start], ends: Sequence[End], first_s: int | None) -> Start | None:
    """The first start that comes after an end of what had started by then; `first_s` is a start told before them."""
    if not starts or (len(starts) == 1 and first_s is None):
        return None
    for start in starts:
        if first_s is not None and any(e[:3] < start[:3] and first_s <= e.at_s <= start.at_s for e in ends):
            return start
        first_s = start.at_s if first_s is None else min(first_s, start.at_s)
    return None


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

    @property
    def ever_held(self) -> bool:
        """Whether anybody ever said that it is held."""
        return any(s.terms.held for s in self.submitted) or any(dict(u.changes).get("held") for u in self.updated)

    def reaches_back(self) -> bool:
        """Whether what is said next may change time long before it.

        A refund, or a pause placed before the end; an end told of the job alone, which a start or an end of one
        attempt hands over to another; a wait that takes its terms from whichever run comes next; starts of which an
        end decides which one counts.
        """
        if self.ended or (len(self.attempts) > 1 and not self.submitted):
            return True
        for attempt in self.attempts.values():
            if attempt.restarts:
                return True
            end = attempt.life().end
            if end is not None and end.outcome == "node_failure":
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
            start, end, _ = attempt.life(self.ended)
            source = start or attempt.full
            if source is not None:
                start_s = start.at_s if start is not None else source.started_s  # type: ignore[union-attr]
                end_s = end.at_s if end is not None else FOREVER_S
                held.append((start_s, name, end_s, frozenset(p[0] for p in source.placements)))
        return sorted(held, key=lambda h: h[:2])

    def second_starts(self) -> dict[str, Start]:
        """The second start of each attempt that has one."""
        found: dict[str, Start] = {}
        for name, attempt in self.attempts.items():
            again = attempt.life(self.ended).again if attempt.restarts else None
            if again is not None:
                found[name] = again
        return found

    def record(self) -> tuple[Any, ...]:
        """Canonical record: attempts by name, so that arrival order leaves no trace."""
        attempts = [self.attempts[name].record() for name in sorted(self.attempts)]
        return ("job", self.job, self.submitted, self.updated, self.ended, attempts)
