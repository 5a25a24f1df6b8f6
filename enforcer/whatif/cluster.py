"""A cluster with a scheduler and an enforcer, played on: events in, acts out, all into one book. Pure.

What the enforcer decides is read back from the book before it is done. The scheduler starts what fits in the order of
the book's queue; for the first that does not fit it keeps room, and what is behind may use it as long as it is gone
by then. Somebody looks at every look, and nothing starts in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Final, cast

from enforcer.backoff import not_before_s
from enforcer.protocol import due
from enforcer.rules import Rules, rules_of
from enforcer.whatif.placing import Room
from enforcer.whatif.work import Running, Work
from ledger.acts import ENFORCE
from ledger.book import Book
from ledger.events import EVENT, Act, ClusterEvent, PlanCommitted, PlanExpired, PreemptionIssued
from ledger.outcomes import Applied, Refused
from ledger.standing import QueueEntry, Slots, queue, slots
from ledger.state import CLOSING_S
from ledger.tree import lineage
from ledger.units import instant

SOURCE: Final = "play"
NODE_GONE: Final = "node_failure"


@dataclass
class Cluster:
    """The cluster as it is, and its book.

    `agenda` is what happens by itself: (when, order, what); `refused` what the book did not take: (source, why).
    """

    book: Book
    now_s: int
    look_s: int
    sizes: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    works: dict[str, Work] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)
    agenda: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    enforces: bool = True
    plans_once: bool = True
    _said: int = 0
    _order: int = 0

    # ------------------------------------------------------------------ saying

    def say(self, kind: str, /, **data: object) -> None:
        """An event of now into the book."""
        self.say_of(self.now_s, kind, **data)

    def say_of(self, at_s: int, kind: str, /, **data: object) -> None:
        """An event of an earlier instant."""
        self._said += 1
        envelope = {"type": f"tenure.{kind}.v1", "id": f"e{self._said}", "source": SOURCE, "time": instant(at_s)}
        event = EVENT.validate_python(envelope | {"data": {"cluster": self.book.state.cluster} | data})
        self.fold(cast("ClusterEvent", event))

    def fold(self, event: ClusterEvent) -> Applied | None:
        """What the book made of it."""
        outcome = self.book.apply(event, self.now_s, last_tick=False)
        self.book.take()
        if isinstance(outcome, Refused):
            self.refused.append((event.source, outcome.sentence))
        return outcome if isinstance(outcome, Applied) else None

    # ------------------------------------------------------------------ what happens by itself

    def later(self, at_s: int, happens: Callable[[], None]) -> None:
        """Something happens at an instant; of one instant, in the order it was told."""
        self._order += 1
        heappush(self.agenda, (at_s, self._order, happens))

    def submit(self, work: Work) -> None:
        """It waits from now on."""
        self.expect(work)
        self.waiting[work.name] = None
        self.say("job.submitted", **work.submission())

    def expect(self, work: Work) -> None:
        """It is known of; if its user gives up waiting, that will happen too."""
        self.works[work.name] = work
        if work.withdrawn_s is not None:
            self.later(work.withdrawn_s, partial(self.withdraw, work.name))

    def turn(self, node: str, gpu_type: str, milli: int, state: str) -> None:
        """A node is so from now on; one that is down or gone ends what runs on it."""
        self.types[node], self.sizes[node], self.states[node] = gpu_type, milli, state
        self.held.setdefault(node, 0)
        if state == "down" or not milli:
            for run in [run for run in self.running.values() if node in run.places]:
                run.outcome, run.how = NODE_GONE, "requeue" if run.work.resumable else "cancel"
                self.end(run)

    def withdraw(self, name: str) -> None:
        """Its user does not want it any more, if it still waits."""
        if name in self.waiting:
            del self.waiting[name]
            self.say("job.ended", job=name, outcome="cancelled")

    def end_due(self, run: Running) -> None:
        """The attempt ends, if it still runs and nothing moved its end."""
        if self.running.get(run.work.name) is run and run.ends_s <= self.now_s:
            self.end(run)

    def end(self, run: Running) -> None:
        """It gives its nodes back; what it has not saved is lost unless it ended by itself."""
        self.save(run)
        work = run.work
        del self.running[work.name]
        for node, milli in run.places.items():
            self.held[node] -= milli
        self.say("job.ended", job=work.name, attempt=run.attempt, outcome=run.outcome)
        if run.how == "requeue":
            work.left_s -= (run.saved_s if work.resumable else run.start_s) - run.start_s
            self.waiting[work.name] = None

    def save(self, run: Running) -> None:
        """Its last checkpoint up to now, told if it is a new one."""
        every_s = run.work.checkpoint_s
        if every_s and self.now_s - run.saved_s >= every_s:
            run.saved_s += (self.now_s - run.saved_s) // every_s * every_s
            self.say_of(run.saved_s, "job.checkpointed", job=run.work.name, attempt=run.attempt)

    def go_on_to(self, at_s: int) -> None:
        """Everything on the agenda up to an instant, each at its own."""
        while self.agenda and self.agenda[0][0] <= at_s:
            due_s, _, happens = heappop(self.agenda)
            self.now_s = max(self.now_s, due_s)
            happens()
        self.now_s = at_s

    # ------------------------------------------------------------------ looking

    def play(self, until_s: int) -> None:
        """On to an instant."""
        self.go_on_to(self.now_s)
        while self.now_s < until_s:
            wake_s = self.look()
            self.go_on_to(min(until_s, max(self.now_s + 1, self.next_s(wake_s))))

    def close(self) -> None:
        """Let the book close its hours up to now; nothing else happens."""
        self.say("clock.ticked", at=instant(self.now_s + CLOSING_S))

    def next_s(self, wake_s: int | None) -> int:
        """When to look next: on the grid, or when somebody has left who was told to. Not whenever time may help."""
        del wake_s
        grid_s = (self.now_s // self.look_s + 1) * self.look_s
        return min([grid_s, *(run.ends_s for run in self.running.values() if run.how)])

    def look(self) -> int | None:
        """The enforcer decides, the scheduler starts what fits; when the enforcer wants to look again."""
        if self.plans_once and self.now_s % self.look_s:
            self.let_in()
            return None
        self.say("clock.ticked", at=instant(self.now_s))
        wake_s = self.enforce() if self.enforces else None
        self.schedule()
        return wake_s

    def rules(self) -> Rules:
        """What the enforcer goes by."""
        return rules_of(self.book.state.policy_at(self.now_s))

    def enforce(self) -> int | None:
        """Decide, read back, carry out, until nothing is due."""
        for run in self.running.values():
            self.save(run)
        made = False
        for _ in range(200):
            found = due(self.book.state, self.now_s, self.rules())
            if not found.acts:
                return found.next_s
            for act in found.acts:
                self.acts.append(act)
                if self.fold(act) is not None:
                    self.carry_out(act)
            if made and self.plans_once:
                return None
            made = any(isinstance(act, PlanCommitted) for act in found.acts)
        raise AssertionError("the enforcer does not come to an end")

    def carry_out(self, act: Act) -> None:
        """What a scheduler does when it is told."""
        match act:
            case PreemptionIssued(data=order):
                run = self.running.get(order.job)
                if run is not None and run.attempt == order.attempt:
                    self.order_off(run, order.how, order.grace_s)
            case PlanCommitted(data=made):
                if made.asker is not None and made.mode == ENFORCE:
                    self.reserved[made.plan] = (made.asker.job, {room.node: room.gpus_milli for room in made.hosts})
            case PlanExpired(data=over):
                self.reserved.pop(over.plan, None)
            case _:
                pass

    def order_off(self, run: Running, how: str, grace_s: int) -> None:
        """It leaves in its time, or is killed a little after its grace; or ends by itself before."""
        leaves_s = self.now_s + min(run.work.leaves_s, grace_s + 5)
        if leaves_s < run.ends_s:
            run.ends_s, run.how = leaves_s, how
            run.outcome = "requeued" if how == "requeue" else "cancelled"
            self.later(leaves_s, partial(self.end_due, run))

    # ------------------------------------------------------------------ the scheduler

    def schedule(self) -> None:
        """Start what fits, in the order of the queue."""
        room = Room(self)
        if not any(room.places(work, 0) for work in self._shapes()):
            return
        started: dict[str, int] = {}
        line = queue(self.book.state)
        limits = {pool: slots(self.book.state, pool) for pool in {entry.pool for entry in line}}
        for entry in line:
            work = self.works.get(entry.job.job)
            if entry.ranked is None or work is None or work.name not in self.waiting or self._held_back(entry, work):
                continue
            if _over_limit(entry, limits[entry.pool], started):
                continue
            found = room.places(work, work.planned_s)
            if found is None:
                room.book(work)
                continue
            self.start(work, found)
            room.take(work, found)
            for account in lineage(entry.job.account) if entry.job.account else ():
                started[account] = started.get(account, 0) + work.milli

    def let_in(self) -> None:
        """Somebody left who was told to: those for whom room was made start, as soon as all of it is there."""
        room = Room(self)
        for asker, _ in list(self.reserved.values()):
            found = room.places(self.works[asker], 0) if asker in self.waiting else None
            if found is not None:
                self.start(self.works[asker], found)
                room.take(self.works[asker], found)

    def _shapes(self) -> list[Work]:
        """What waits, one of each shape; looking at the order costs more."""
        found = {}
        keepers = {asker for asker, _ in self.reserved.values()}
        for name in self.waiting:
            work = self.works[name]
            alike = name if name in keepers else ""
            found[work.pieces, work.piece_milli, work.apart, work.gpu_type, alike] = work
        return list(found.values())

    def _held_back(self, entry: QueueEntry, work: Work) -> bool:
        """Whether it had to leave a moment ago, and is not to start yet: unfunded work alone."""
        return bool(work.attempts) and not entry.job.funded and not_before_s(self.book.state, work.name) > self.now_s

    def start(self, work: Work, placed: dict[str, int]) -> None:
        """It runs on these nodes from now on."""
        del self.waiting[work.name]
        work.attempts += 1
        ends_s = self.now_s + work.left_s
        run = Running(work, str(work.attempts), placed, self.now_s, self.now_s, ends_s, work.ends_as)
        self.put(run)
        told = [{"node": node, "gpus_milli": milli} for node, milli in placed.items()]
        self.say("job.started", job=work.name, attempt=run.attempt, placements=told)

    def put(self, run: Running) -> None:
        """It holds its nodes until it ends."""
        self.running[run.work.name] = run
        for node, milli in run.places.items():
            self.held[node] = self.held.get(node, 0) + milli
        self.later(run.ends_s, partial(self.end_due, run))


def _over_limit(entry: QueueEntry, limits: dict[str, Slots], started: dict[str, int]) -> bool:
    """Whether it would exceed a slot limit, with what started at this look."""
    if not limits or not entry.job.account or not entry.job.funded:
        return False
    return any(
        limit.running_milli + started.get(account, 0) + entry.job.gpus_milli > limit.limit_milli
        for account in lineage(entry.job.account)
        if (limit := limits.get(account)) is not None
    )
