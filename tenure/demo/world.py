"""The simulated cluster: its clock, its machines and queues, and the few things that can happen to a job.

Who acts when is decided elsewhere (`scheduler`, `incidents`); here it is carried out and remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final

from ledger.events.jobs import Outcome
from ledger.events.nodes import NodeState
from ledger.units import HOUR_S
from tenure.demo.chance import Chance
from tenure.demo.cluster import NODES, POOLS
from tenure.demo.fairness import Fairness
from tenure.demo.jobs import Job
from tenure.demo.queues import Queues
from tenure.demo.running import Case, Machine, Run
from tenure.demo.span import Span
from tenure.demo.tree import Claims
from tenure.demo.truth import Attempt, Cancelled, NodeChange, Requeue, Stop

BACKOFF_S: Final = 60
LONGEST_BACKOFF_S: Final = HOUR_S
SETTLED_S: Final = 2 * HOUR_S
"""A run that lasted this long is no longer punished for earlier setbacks."""

Act = Callable[[], None]


class World:
    """Time moves from event to event; acts of one second happen in the order they were planned."""

    def __init__(self, span: Span, claims: Claims, chance: Chance) -> None:
        self.now_s = span.opens_s
        self.chance = chance
        self.machines = {pool: [Machine(n) for n in NODES if n.gpu_type == pool] for pool in POOLS}
        self.queues = {pool: Queues() for pool in POOLS}
        self.fairness = {pool: Fairness(pool, span.opens_s, claims) for pool in POOLS}
        self.running: dict[str, dict[Run, None]] = {pool: {} for pool in POOLS}
        self.funded_gpus: Counter[str] = Counter()
        self.attempts: list[Attempt] = []
        self.requeues: list[Requeue] = []
        self.cancelled: list[Cancelled] = []
        self.changes: list[NodeChange] = []
        self.on_room: Callable[[str], None] = _nobody
        self.on_ask: Callable[[Case], None] = _nobody
        self.on_vacated: Callable[[Machine], None] = _nobody
        self._agenda: list[tuple[int, int, Act]] = []
        self._order = count()

    def later(self, at_s: int, act: Act) -> None:
        """Plan `act` for `at_s`, now or later."""
        heappush(self._agenda, (at_s, next(self._order), act))

    def run_until(self, ends_s: int) -> None:
        """Do everything planned before `ends_s`, and remember what is still running then."""
        while self._agenda and self._agenda[0][0] < ends_s:
            self.now_s, _, act = heappop(self._agenda)
            act()
        self.now_s = ends_s
        for pool in POOLS:
            self.attempts += [run.closed(ends_s, None, final=False) for run in self.running[pool]]

    # ------------------------------------------------------------ waiting

    def submit(self, job: Job) -> None:
        """A new job; it joins the queue when it may start."""
        case = Case(job, job.submit_s, job.eligible_s)
        self.later(job.eligible_s, lambda: self.join(case))

    def join(self, case: Case) -> None:
        """`case` waits from now on, as long as its owner has patience."""
        self.queues[case.job.pool].join(case)
        case.joined_s = joined_s = self.now_s
        self.later(joined_s + case.job.nature.patience_s, lambda: self._give_up(case, joined_s))
        self.on_room(case.job.pool)
        self.on_ask(case)

    def _give_up(self, case: Case, joined_s: int) -> None:
        if case.waiting and case.joined_s == joined_s:
            self.queues[case.job.pool].leave(case)
            self.cancelled.append(Cancelled(case.job, self.now_s))

    # ------------------------------------------------------------ running

    def start(self, case: Case, machines: Sequence[Machine]) -> None:
        """`case` takes its GPUs on `machines`, where it must fit."""
        job = case.job
        self.queues[job.pool].leave(case)
        run = Run(case, self.now_s, self.now_s + (job.ask.min_runtime_s if job.funded else 0), [])
        for machine in machines:
            run.places.append((machine, machine.take(job.ask.gpus_per_node, run, borrow=not job.funded)))
        self.running[job.pool][run] = None
        if job.funded:
            self.funded_gpus[run.account] += run.gpus
            self.fairness[job.pool].commit(run.account, run.gpus * job.ask.min_runtime_s)
        self._plan_end(run)
        self._plan_troubles(run)

    def is_running(self, run: Run) -> bool:
        return run in self.running[run.case.job.pool]

    def evict(self, run: Run, outcome: Outcome) -> None:
        """End `run` from outside: it waits again if it can be resumed, and is over if not."""
        case, again = run.case, run.case.job.ask.resumable
        if again:
            case.banked_s = run.saved_s(self.now_s)
            settled = run.elapsed_s(self.now_s) >= SETTLED_S
            case.setbacks = 1 if settled else case.setbacks + 1
        self._end(run, outcome, final=not again)
        if again:
            self._requeue(case)

    def _requeue(self, case: Case) -> None:
        case.attempt_s = self.now_s
        doubled_s = BACKOFF_S * 2 ** min(6, case.setbacks - 1)
        wait_s = BACKOFF_S if case.job.funded else min(LONGEST_BACKOFF_S, doubled_s)
        case.eligible_s = self.now_s + wait_s
        self.requeues.append(Requeue(case.job, self.now_s, case.eligible_s))
        self.later(case.eligible_s, lambda: self.join(case))

    def _end(self, run: Run, outcome: Outcome, *, final: bool) -> None:
        pool = run.case.job.pool
        del self.running[pool][run]
        self.attempts.append(run.closed(self.now_s, outcome, final=final))
        if run.funded:
            self.funded_gpus[run.account] -= run.gpus
        for machine, indices in run.places:
            for index in indices:
                if machine.owners[index] is run:
                    machine.owners[index] = None
                if machine.lenders[index] is run:
                    machine.lenders[index] = None
            machine.count()
            self.on_vacated(machine)
        self.on_room(pool)

    def _plan_end(self, run: Run) -> None:
        """Plan the end its nature or its time limit sets, whichever comes first."""
        nature, limit_s = run.case.job.nature, run.case.job.ask.time_limit_s
        needed_s = nature.fate_at_s - run.case.banked_s + run.reload_s()
        outcome: Outcome = nature.fate if needed_s <= limit_s else "timeout"
        run.due += 1
        due = run.due
        left_s = min(needed_s, limit_s) - run.elapsed_s(self.now_s)
        self.later(self.now_s + max(1, left_s), lambda: self._finish(run, due, outcome))

    def _finish(self, run: Run, due: int, outcome: Outcome) -> None:
        if self.is_running(run) and run.due == due:
            self._end(run, outcome, final=True)

    def _plan_troubles(self, run: Run) -> None:
        case, nature = run.case, run.case.job.nature
        if nature.pause is not None and not case.paused:
            self.later(self.now_s + nature.pause.after_s, lambda: self._suspend(run))
        if nature.requeued_after_s is not None and not case.requeued:
            self.later(self.now_s + nature.requeued_after_s, lambda: self._requeue_by_hand(run))

    def _requeue_by_hand(self, run: Run) -> None:
        if self.is_running(run):
            run.case.requeued = True
            self.evict(run, "requeued")

    # ------------------------------------------------------------ standing still

    def _suspend(self, run: Run) -> None:
        """Stop `run` for a while; a run on borrowed GPUs cannot lend them on, so it is left alone."""
        borrows = any(machine.lenders[index] for machine, indices in run.places for index in indices)
        pause = run.case.job.nature.pause
        if not self.is_running(run) or borrows or pause is None:
            return
        run.case.paused = True
        run.stopped_since_s = self.now_s
        run.due += 1
        if pause.releases_gpus:
            self._hand_over(run, lend=True)
            self.on_room(run.case.job.pool)
        self.later(self.now_s + pause.lasts_s, lambda: self._resume(run))

    def _resume(self, run: Run) -> None:
        """Go on, on the same GPUs: who borrowed them meanwhile has to leave."""
        if not self.is_running(run) or run.stopped_since_s is None:
            return
        lent = run.lends
        if lent:
            borrowers = [machine.owners[index] for machine, indices in run.places for index in indices]
            for borrower in dict.fromkeys(b for b in borrowers if b is not None):
                self.evict(borrower, "preempted")
            self._hand_over(run, lend=False)
        run.stops.append(Stop(run.stopped_since_s, self.now_s, lent))
        run.stopped_s += self.now_s - run.stopped_since_s
        run.stopped_since_s = None
        self._plan_end(run)

    def _hand_over(self, run: Run, *, lend: bool) -> None:
        for machine, indices in run.places:
            for index in indices:
                machine.owners[index] = None if lend else run
                machine.lenders[index] = run if lend else None
            machine.count()

    # ------------------------------------------------------------ machines

    def change(self, machine: Machine, state: NodeState, reason: str = "") -> None:
        """`machine` is in `state` from now on, and so it will be reported."""
        self._turn(machine, NodeChange(self.now_s, machine.spec.name, machine.spec.gpu_type, state, reason))
        machine.state = state
        machine.count()
        if state == "available":
            self.on_room(machine.spec.gpu_type)

    def remove(self, machine: Machine) -> None:
        """`machine`, already empty, is no longer part of the cluster."""
        self._turn(machine, NodeChange(self.now_s, machine.spec.name, machine.spec.gpu_type, "removed"))

    def _turn(self, machine: Machine, change: NodeChange) -> None:
        machine.changes += 1
        self.changes.append(change)


def _nobody(_: object) -> None:
    """Whoever was not asked to act does not."""
