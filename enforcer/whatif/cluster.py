"""A cluster with a scheduler and an enforcer, played on: events in, acts out, all into one book. Pure.

What the enforcer decides is read back from the book before it is done. The scheduler starts what fits in the order of
the book's queue; for the first that does not fit it keeps room, and what is behind may use it as long as it is gone
by then. Somebody looks at every look, and nothing starts in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final

from enforcer.backoff import not_before_s
from enforcer.protocol import due
from enforcer.rules import Rules, rules_of
from enforcer.whatif.placing import Room
from enforcer.whatif.work import Running, Work
from ledger.acts import ENFORCE
from ledger.book import Book
from ledger.events import EVENT
from ledger.outcomes import Applied, Refused
from ledger.standing import QueueEntry, Slots, queue, slots
from ledger.state import CLOSING_S
from ledger.tree import lineage
from ledger.units import instant

SOURCE: Final = "play"
NODE_GONE: Final = "node_failure"
COMMITTED: Final = "tenure.plan.committed.v1"


@dataclass
class Cluster:
    """The cluster as it is, and its book. `agenda` is what happens by itself: (when, order, what, about whom)."""

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
    agenda: list[tuple[int, int, str, Any]] = field(default_factory=list)
    acts: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    enforces: bool = True
    plans_once: bool = True
    _said: int = 0
    _order: int = 0

    # ------------------------------------------------------------------ saying

    def say(self, kind: str, /, at_s: int | None = None, **data: Any) -> None:
        """An event into the book, of now unless an earlier instant is told."""
        self._said += 1
        time = instant(self.now_s if at_s is None else at_s)
        envelope = {"type": f"tenure.{kind}.v1", "id": f"e{self._said}", "source": SOURCE, "time": time}
        self.fold(EVENT.validate_python(envelope | {"data": {"cluster": self.book.state.cluster} | data}))

    def fold(self, event: Any) -> Applied | None:
        """What the book made of it."""
        outcome = self.book.apply(event, self.now_s, last_tick=False)
        self.book.take()
        if isinstance(outcome, Refused):
            self.refused.append(outcome.sentence)
        return outcome if isinstance(outcome, Applied) else None

    # ------------------------------------------------------------------ what happens by itself

    def later(self, at_s: int, what: str, whom: Any) -> None:
        """`what` (submit, end, withdraw, turn) happens at an instant; of one instant, in the order it was told."""
        self._order += 1
        heappush(self.agenda, (at_s, self._order, what, whom))

    def submit(self, work: Work) -> None:
        """It waits from now on."""
        self.works[work.name] = work
        self.waiting[work.name] = None
        self.say("job.submitted", **work.submission())
        if work.withdrawn_s is not None:
            self.later(work.withdrawn_s, "withdraw", work.name)

    def turn(self, told: tuple[str, str, int, str]) -> None:
        """(node, GPU type, milli-GPUs, state) from now on; one that is down or gone ends what runs on it."""
        node, kind, milli, state = told
        self.types[node], self.sizes[node], self.states[node] = kind, milli, state
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

    def end_due(self, told: tuple[str, str]) -> None:
        """The attempt ends, if it still runs and nothing moved its end."""
        run = self.running.get(told[0])
        if run is not None and run.attempt == told[1] and run.ends_s <= self.now_s:
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
            self.say("job.checkpointed", at_s=run.saved_s, job=run.work.name, attempt=run.attempt)

    def go_on_to(self, at_s: int) -> None:
        """Everything on the agenda up to an instant, each at its own."""
        while self.agenda and self.agenda[0][0] <= at_s:
            due_s, _, what, whom = heappop(self.agenda)
            self.now_s = max(self.now_s, due_s)
            match what:
                case "submit":
                    self.submit(whom)
                case "end":
                    self.end_due(whom)
                case "withdraw":
                    self.withdraw(whom)
                case _:
                    self.turn(whom)
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
            made = any(act.type == COMMITTED for act in found.acts)
        raise AssertionError("the enforcer does not come to an end")

    def carry_out(self, act: Any) -> None:
        """What a scheduler does when it is told."""
        data = act.data
        match act.type:
            case "tenure.preemption.issued.v1":
                run = self.running.get(data.job)
                if run is not None and run.attempt == data.attempt:
                    self.order_off(run, data.how, data.grace_s)
            case "tenure.plan.committed.v1" if data.asker is not None and data.mode == ENFORCE:
                self.reserved[data.plan] = (data.asker.job, {room.node: room.gpus_milli for room in data.hosts})
            case "tenure.plan.expired.v1":
                self.reserved.pop(data.plan, None)
            case _:
                pass

    def order_off(self, run: Running, how: str, grace_s: int) -> None:
        """It leaves in its time, or is killed a little after its grace; or ends by itself before."""
        leaves_s = self.now_s + min(run.work.leaves_s, grace_s + 5)
        if leaves_s < run.ends_s:
            run.ends_s, run.how = leaves_s, how
            run.outcome = "requeued" if how == "requeue" else "cancelled"
            self.later(leaves_s, "end", (run.work.name, run.attempt))

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
        self.later(run.ends_s, "end", (run.work.name, run.attempt))


def _over_limit(entry: QueueEntry, limits: dict[str, Slots], started: dict[str, int]) -> bool:
    """Whether it would exceed a slot limit, with what started at this look."""
    if not limits or not entry.job.account or not entry.job.funded:
        return False
    return any(
        limit.running_milli + started.get(account, 0) + entry.job.gpus_milli > limit.limit_milli
        for account in lineage(entry.job.account)
        if (limit := limits.get(account)) is not None
    )
