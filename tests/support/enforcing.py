"""The cluster a what-if plays, with people on it who do worse. See tests/scenarios/enforcement/README.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any

from enforcer.rules import Rules
from enforcer.whatif import cluster, work
from ledger.book import Book
from ledger.units import GPU_MILLI, HOUR_S, epoch_s, instant

START_S = epoch_s(datetime(2026, 3, 2, tzinfo=UTC))
CLUSTER = "c"


@dataclass
class Work(work.Work):
    """Submitted at an instant; it may not leave, or be submitted anew whenever it has ended."""

    leaves_s: int = 10
    from_s: int = 0
    stays: bool = False
    again: bool = False

    def __post_init__(self) -> None:
        self.length_s = self.left_s


@dataclass
class World(cluster.Cluster):
    """Somebody looks whenever anything happens, and every `look_s` at least."""

    book: Book = field(default_factory=lambda: Book(CLUSTER))
    now_s: int = START_S
    look_s: int = 420
    plans_once: bool = False
    acts: list[Any] = field(default_factory=list)
    rebalance: bool = True
    thief: tuple[str, int] | None = None
    ran_gpu_s: Counter[str] = field(default_factory=Counter)
    lost_gpu_s: Counter[str] = field(default_factory=Counter)
    preempted: Counter[str] = field(default_factory=Counter)
    history: list[tuple[int, Counter[str]]] = field(default_factory=list)
    windows: list[tuple[str, int, int]] = field(default_factory=list)

    def add_node(self, name: str, gpus: int, state: str = "available") -> None:
        """What runs on it goes on, whatever becomes of the node."""
        milli = gpus * GPU_MILLI
        self.types[name], self.sizes[name], self.states[name] = "h100", milli, state
        self.held.setdefault(name, 0)
        self.say("node.observed", node=name, gpu_type="h100", gpus_milli=milli, state=state)

    def maintain(self, window: str, node: str, since_s: int, until_s: int, *, cancelled: bool = False) -> None:
        """Plan a window or take it back. The scheduler knows, and starts nothing there: it might still run then."""
        if cancelled:
            self._reopen(node)
        elif self.states[node] == "available":
            self.states[node] = "reserved"
            self.later(until_s, partial(self._reopen, node))
        span = {"since": instant(since_s), "until": instant(until_s)}
        self.windows.append((node, since_s, until_s))
        self.say("maintenance.planned", window=window, nodes=[node], **span, cancelled=cancelled, author="ann")

    def _reopen(self, node: str) -> None:
        if self.states[node] == "reserved":
            self.states[node] = "available"

    def play_on(self, until_s: int, works: list[Work]) -> None:
        """On to an instant; works are submitted when their time comes."""
        for one in sorted(works, key=lambda w: w.from_s):
            self.later(START_S + one.from_s, partial(self.submit, one))
        self.play(until_s)

    def next_s(self, wake_s: int | None) -> int:
        times = [self.now_s + self.look_s, *(r.ends_s for r in self.running.values())]
        times += [r.saved_s + r.work.checkpoint_s for r in self.running.values() if r.work.checkpoint_s]
        times += [self.agenda[0][0]] if self.agenda else []
        times += [wake_s] if wake_s is not None else []
        return min(times)

    def go_on_to(self, at_s: int) -> None:
        for run in self.running.values():
            self.ran_gpu_s[run.work.account] += run.work.milli // GPU_MILLI * (at_s - self.now_s)
        if at_s > self.now_s and (not self.history or at_s - self.history[-1][0] >= HOUR_S):
            self.history.append((at_s, Counter(self.ran_gpu_s)))
        super().go_on_to(at_s)

    def least_share(self, account: str, span_s: int) -> Fraction:
        """Of all stretches of that length that it was asked about, the one in which an account ran least."""
        least = Fraction(1)
        for at_s, ran in self.history:
            before = next((old for then_s, old in reversed(self.history) if then_s <= at_s - span_s), None)
            if before is not None:
                all_of = sum(ran.values()) - sum(before.values())
                least = min(least, Fraction(ran[account] - before[account], all_of))
        return least

    def end(self, run: work.Running) -> None:
        super().end(run)
        work = run.work
        assert isinstance(work, Work)
        if run.how:
            saved_s = run.saved_s if work.resumable else run.start_s
            self.lost_gpu_s[work.account] += work.milli // GPU_MILLI * (self.now_s - saved_s)
            self.preempted[work.account] += 1
        if work.again and run.how != "requeue":
            self._once_more(work)

    def _once_more(self, work: Work) -> None:
        base, _, number = work.name.partition("#")
        again = {one.name: getattr(work, one.name) for one in fields(work)}
        again |= {"name": f"{base}#{int(number or 1) + 1}", "attempts": 0, "left_s": work.length_s}
        self.submit(Work(**again))

    def order_off(self, run: work.Running, how: str, grace_s: int) -> None:
        assert isinstance(run.work, Work)
        if not run.work.stays:
            super().order_off(run, how, grace_s)

    def carry_out(self, act: Any) -> None:
        super().carry_out(act)
        if act.type == "tenure.capacity.held.v1" and self.thief is not None:
            self._steal(*self.thief)

    def _steal(self, node: str, gpus: int) -> None:
        """Somebody starts a run past the scheduler, on a node that is kept."""
        self.thief = None
        self.held[node] += gpus * GPU_MILLI
        placed = [{"node": node, "gpus_milli": gpus * GPU_MILLI}]
        self.say("job.started", job="thief", attempt="1", placements=placed)

    def rules(self) -> Rules:
        return replace(super().rules(), rebalance=self.rebalance)
