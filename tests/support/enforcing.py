"""A small cluster with a scheduler and an enforcer, played on. See tests/scenarios/enforcement/README.md.

Events in, acts out, all into one book: what the enforcer decides is read back before the scheduler does it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from enforcer.protocol import due
from enforcer.rules import rules_of
from ledger.book import Book
from ledger.events import EVENT
from ledger.outcomes import Applied, Refused
from ledger.standing import queue
from ledger.units import GPU_MILLI, HOUR_S, epoch_s, instant

START_S = epoch_s(datetime(2026, 3, 2, tzinfo=UTC))
CLUSTER = "c"


@dataclass
class Work:
    """A job as its user means it; seconds, GPUs."""

    name: str
    account: str
    pieces: int
    gpus: int
    min_runtime_s: int
    resumable: bool = False
    checkpoint_s: int = 0
    length_s: int = 1 << 40
    from_s: int = 0
    leaves_s: int = 10
    stays: bool = False
    again: bool = False
    kind: str = "batch"
    left_s: int = 1 << 40
    attempts: int = 0

    @property
    def milli(self) -> int:
        return self.pieces * self.gpus * GPU_MILLI


@dataclass
class Running:
    """An attempt that holds nodes."""

    work: Work
    attempt: str
    nodes: tuple[str, ...]
    start_s: int
    saved_s: int
    ends_s: int
    outcome: str = "succeeded"
    how: str = ""


@dataclass
class World:
    """The cluster as it really is, and its book. Somebody looks every `step_s`, at least."""

    nodes: dict[str, int] = field(default_factory=dict)
    works: dict[str, Work] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    reserved: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)
    thieves: dict[str, int] = field(default_factory=dict)
    thief: tuple[str, int] | None = None
    states: dict[str, str] = field(default_factory=dict)
    now_s: int = START_S
    step_s: int = 420
    rebalance: bool = True
    book: Book = field(default_factory=lambda: Book(CLUSTER))
    acts: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ran_gpu_s: Counter[str] = field(default_factory=Counter)
    lost_gpu_s: Counter[str] = field(default_factory=Counter)
    preempted: Counter[str] = field(default_factory=Counter)
    planned: list[tuple[int, str]] = field(default_factory=list)
    history: list[tuple[int, Counter[str]]] = field(default_factory=list)
    _said: int = 0

    # ------------------------------------------------------------------ saying

    def say(self, kind: str, /, **data: Any) -> None:
        self._said += 1
        envelope = {"type": f"tenure.{kind}.v1", "id": f"e{self._said}", "source": "world", "time": instant(self.now_s)}
        self.fold(EVENT.validate_python(envelope | {"data": {"cluster": CLUSTER} | data}))

    def fold(self, event: Any) -> Applied | None:
        outcome = self.book.apply(event, self.now_s)
        self.book.take()
        if isinstance(outcome, Refused):
            self.refused.append(outcome.sentence)
        return outcome if isinstance(outcome, Applied) else None

    def add_node(self, name: str, gpus: int, state: str = "available") -> None:
        self.nodes[name], self.states[name] = gpus, state
        self.say("node.observed", node=name, gpu_type="h100", gpus_milli=gpus * GPU_MILLI, state=state)

    def submit(self, work: Work) -> None:
        self.works[work.name] = work
        work.left_s = work.length_s
        self.waiting.add(work.name)
        self.say(
            "job.submitted",
            job=work.name,
            user="u",
            account=work.account,
            gpus_milli=work.milli,
            shape={"nodes": work.pieces, "gpus_per_node_milli": work.gpus * GPU_MILLI},
            min_runtime_s=work.min_runtime_s,
            resumable=work.resumable,
            kind=work.kind,
        )

    # ------------------------------------------------------------------ time

    def play(self, until_s: int, later: list[Work]) -> None:
        """On to an instant; `later` is submitted when its time comes."""
        later = sorted(later, key=lambda w: w.from_s)
        while self.now_s < until_s:
            while later and START_S + later[0].from_s <= self.now_s:
                self.submit(later.pop(0))
            self._end_what_ends()
            self.say("clock.ticked", at=instant(self.now_s))
            wake_s = self._enforce()
            self._schedule()
            times = [self.now_s + self.step_s, until_s, *(r.ends_s for r in self.running.values())]
            times += [self._next_checkpoint_s(r) for r in self.running.values() if r.work.checkpoint_s]
            times += [START_S + later[0].from_s] if later else []
            times += [wake_s] if wake_s is not None else []
            self._on_to(max(self.now_s + 1, min(times)))

    def least_share(self, account: str, span_s: int) -> Fraction:
        """Of all stretches of that length that it was asked about, the one in which an account ran least."""
        least = Fraction(1)
        for at_s, ran in self.history:
            before = next((old for then_s, old in reversed(self.history) if then_s <= at_s - span_s), None)
            if before is not None:
                all_of = sum(ran.values()) - sum(before.values())
                least = min(least, Fraction(ran[account] - before[account], all_of))
        return least

    def _on_to(self, at_s: int) -> None:
        for run in self.running.values():
            self.ran_gpu_s[run.work.account] += run.work.pieces * run.work.gpus * (at_s - self.now_s)
        self.now_s = at_s
        if not self.history or at_s - self.history[-1][0] >= HOUR_S:
            self.history.append((at_s, Counter(self.ran_gpu_s)))
        for run in self.running.values():
            if run.work.checkpoint_s and self.now_s - run.saved_s >= run.work.checkpoint_s:
                run.saved_s = self.now_s
                self.say("job.checkpointed", job=run.work.name, attempt=run.attempt)

    def _next_checkpoint_s(self, run: Running) -> int:
        return run.saved_s + run.work.checkpoint_s

    def _end_what_ends(self) -> None:
        for run in [r for r in self.running.values() if r.ends_s <= self.now_s]:
            self._end(run)

    def _end(self, run: Running) -> None:
        work = run.work
        del self.running[work.name]
        self.say("job.ended", job=work.name, attempt=run.attempt, outcome=run.outcome)
        if not run.how:
            if work.again:
                self._once_more(work)
            return
        lost_s = self.now_s - (run.saved_s if work.resumable else run.start_s)
        self.lost_gpu_s[work.account] += work.pieces * work.gpus * lost_s
        self.preempted[work.account] += 1
        work.left_s -= self.now_s - run.start_s - lost_s
        if run.how == "requeue":
            self.waiting.add(work.name)
        elif work.again:
            self._once_more(work)

    def _once_more(self, work: Work) -> None:
        base, _, number = work.name.partition("#")
        again = Work(**{name: getattr(work, name) for name in Work.__dataclass_fields__})
        again.name, again.attempts = f"{base}#{int(number or 1) + 1}", 0
        self.submit(again)

    # ------------------------------------------------------------------ the scheduler

    def free(self, node: str, job: str) -> int:
        """GPUs a job may have there: what nobody holds, and nobody else is kept."""
        if self.states[node] != "available":
            return 0
        held = sum(r.work.gpus for r in self.running.values() if node in r.nodes) + self.thieves.get(node, 0)
        kept = sum(rooms.get(node, 0) for asker, rooms in self.reserved.values() if asker not in {job, *self.running})
        return self.nodes[node] - held - kept

    def _schedule(self) -> None:
        if not self.waiting:
            return
        order = [e.job.job for e in queue(self.book.state) if e.ranked is not None]
        for name in [*order, *sorted(self.waiting - set(order))]:
            work = self.works.get(name)
            if work is None or name not in self.waiting:
                continue
            places = [node for node in self.nodes if self.free(node, name) >= work.gpus][: work.pieces]
            if len(places) == work.pieces:
                self._start(work, tuple(places))

    def _start(self, work: Work, places: tuple[str, ...]) -> None:
        self.waiting.discard(work.name)
        work.attempts += 1
        run = Running(work, str(work.attempts), places, self.now_s, self.now_s, self.now_s + work.left_s)
        self.running[work.name] = run
        placed = [{"node": node, "gpus_milli": work.gpus * GPU_MILLI} for node in places]
        self.say("job.started", job=work.name, attempt=run.attempt, placements=placed)

    def _steal(self) -> None:
        """Somebody starts a run past the scheduler, on a node that is kept."""
        if self.thief is None:
            return
        (node, gpus), self.thief = self.thief, None
        self.thieves[node] = gpus
        placed = [{"node": node, "gpus_milli": gpus * GPU_MILLI}]
        self.say("job.started", job="thief", attempt="1", placements=placed)

    # ------------------------------------------------------------------ the enforcer

    def _enforce(self) -> int | None:
        """Decide, read back, carry out, until nothing is due."""
        for _ in range(50):
            rules = replace(rules_of(self.book.state.policy_at(self.now_s)), rebalance=self.rebalance)
            found = due(self.book.state, self.now_s, rules)
            if not found.acts:
                return found.next_s
            for act in found.acts:
                self.acts.append(act)
                if self.fold(act) is not None:
                    self._carry_out(act)
        raise AssertionError("the enforcer does not come to an end")

    def _carry_out(self, act: Any) -> None:
        data = act.data
        match act.type:
            case "tenure.plan.committed.v1":
                self.planned.append((self.now_s, data.plan))
            case "tenure.preemption.issued.v1":
                run = self.running.get(data.job)
                if run is not None and run.attempt == data.attempt and not run.work.stays:
                    leaves_s = self.now_s + min(run.work.leaves_s, data.grace_s + 5)
                    if leaves_s < run.ends_s:
                        run.ends_s, run.how = leaves_s, data.how
                        run.outcome = "requeued" if data.how == "requeue" else "cancelled"
            case "tenure.capacity.held.v1":
                asker = self.book.state.acts.plans[data.plan].made.asker
                assert asker is not None
                rooms = {room.node: room.gpus_milli // GPU_MILLI for room in data.nodes}
                self.reserved[data.plan] = (asker.job, rooms)
                self._steal()
            case "tenure.plan.expired.v1":
                self.reserved.pop(data.plan, None)
            case _:
                pass
