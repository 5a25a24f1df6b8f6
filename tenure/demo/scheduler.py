"""The demo's own scheduler: funded work by fair share, unfunded work in what is left.

A simple rule is enough here. A funded ask may send unfunded runs away, and now and then runs of richer
accounts whose contracts are over; a gang that waited books machines and takes them once no contract is left
on them. What Tenure itself would have decided is the enforcer's business.
"""

from __future__ import annotations

from typing import Final

from ledger.units import HOUR_S
from tenure.demo.bookings import Bookings
from tenure.demo.cluster import GPUS_PER_NODE, POOLS
from tenure.demo.jobs import Job
from tenure.demo.placing import MayYield, fitting, victims
from tenure.demo.running import Case, Machine, Run
from tenure.demo.tree import LIMITED_TEAM, SLOT_LIMIT_GPUS
from tenure.demo.world import World

DELAY_S: Final = 60
DEBUG_DELAY_S: Final = 10
RECLAIM_AFTER_S: Final = 10 * 60
"""How long an ask waits before it may take GPUs from banked runs of other accounts."""
BOOK_AFTER_S: Final = 2 * HOUR_S
HYSTERESIS: Final = 0.05
RETRY_S: Final = 30
RECLAIM_AGAIN_S: Final = 20 * 60
"""Pauses after an ask that no unfunded run, and no banked run, could yield to."""
PASS_S: Final = (4, 40)
"""A pass follows a change after this many seconds, as schedulers' cycles do."""
BACKFILL_S: Final = 240
"""Unfunded work is looked at this often, so that a GPU just left goes to funded work first."""


class Scheduler:
    """Looks at a pool of `world` shortly after something changed in it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bookings = {pool: Bookings(world, pool) for pool in POOLS}
        self._planned = dict.fromkeys(POOLS, False)
        world.on_room = self._wake
        world.on_ask = self._listen
        for pool in POOLS:
            self._backfill(pool)

    def _wake(self, pool: str) -> None:
        if not self._planned[pool]:
            self._planned[pool] = True
            delay_s = int(self._world.chance.integers(*PASS_S))
            self._world.later(self._world.now_s + delay_s, lambda: self._pass(pool))

    def _listen(self, case: Case) -> None:
        """A funded ask is looked at again once it may ask others to leave."""
        if case.job.funded:
            at_s = self._world.now_s + _delay_s(case) + 1
            self._world.later(at_s, lambda: self._wake(case.job.pool))

    def _pass(self, pool: str) -> None:
        world = self._world
        self._planned[pool] = False
        if not world.queues[pool].waiting_accounts():
            return
        world.fairness[pool].advance(world.now_s, world.running[pool])
        self._bookings[pool].settle()
        while self._start_funded(pool):
            pass
        self._ask(pool)

    def _backfill(self, pool: str) -> None:
        while self._start_unfunded(pool):
            pass
        self._world.later(self._world.now_s + BACKFILL_S, lambda: self._backfill(pool))

    def _start_funded(self, pool: str) -> bool:
        """Start the best waiting case that fits, if any."""
        world = self._world
        machines = self._bookings[pool].unbooked()
        room = max((machine.free for machine in machines), default=0)
        if not room:
            return False
        whole = sum(machine.free == GPUS_PER_NODE for machine in machines)
        queues = world.queues[pool]
        for account in sorted(queues.waiting_accounts(), key=world.fairness[pool].order):
            for case in queues.first(account):
                ask = case.job.ask
                if (ask.gpus_per_node > room or ask.nodes > max(1, whole)) or not self._within_limit(case):
                    continue
                places = fitting(machines, case.job)
                if places is not None:
                    world.start(case, places)
                    return True
        return False

    def _start_unfunded(self, pool: str) -> bool:
        """Start the longest waiting unfunded case that fits, on booked machines too."""
        world = self._world
        machines = world.machines[pool]
        if not any(machine.borrowable for machine in machines):
            return False
        for case in world.queues[pool].oldest_unfunded():
            places = fitting(machines, case.job)
            if places is not None:
                world.start(case, places)
                return True
        return False

    def _ask(self, pool: str) -> None:
        """Let each account's first case, and its debug runs, ask others to leave."""
        queues = self._world.queues[pool]
        for account in sorted(queues.waiting_accounts(), key=self._world.fairness[pool].order):
            for nth, case in enumerate(list(queues.first(account))):
                if (nth == 0 or case.job.ask.kind == "debug") and self._may_ask(case):
                    self._take(case)

    def _may_ask(self, case: Case) -> bool:
        now_s = self._world.now_s
        ripe_s = max(case.asks_s, case.joined_s + _delay_s(case))
        return now_s >= ripe_s and self._within_limit(case)

    def _take(self, case: Case) -> None:
        """Start `case` in place of unfunded runs, or of banked ones, or let it book."""
        now_s, job = self._world.now_s, case.job
        machines = self._bookings[job.pool].unbooked()
        if _may_fit(machines, job) and self._take_from(case, machines, self._is_unfunded):
            return
        case.asks_s = now_s + RETRY_S
        waited_s = now_s - case.joined_s
        if waited_s < RECLAIM_AFTER_S or now_s < case.reclaims_s:
            return
        if self._take_from(case, machines, self._is_reclaimable(case)):
            return
        case.reclaims_s = now_s + RECLAIM_AGAIN_S
        if job.ask.nodes > 1 and waited_s >= BOOK_AFTER_S and self._is_entitled(case):
            self._bookings[job.pool].book(case)

    def _take_from(self, case: Case, machines: list[Machine], may_yield: MayYield) -> bool:
        world, job = self._world, case.job
        leaving = victims(machines, job, may_yield, world.now_s)
        if leaving is None or not self._worth_it(case, leaving):
            return False
        for run in leaving:
            world.evict(run, "preempted")
        places = fitting(machines, job)
        assert places is not None, "whoever was in the way has left"
        world.start(case, places)
        return True

    def _is_unfunded(self, run: Run) -> bool:
        return not run.funded and run.started_s < self._world.now_s

    def _is_reclaimable(self, case: Case) -> MayYield:
        """Unfunded runs, and banked runs of accounts that stay ahead of the asker with its contract."""
        world, job = self._world, case.job
        fairness, now_s = world.fairness[job.pool], world.now_s
        account = job.ask.account or ""
        after = fairness.with_contract(account, job.gpus * job.ask.min_runtime_s)

        def may_yield(run: Run) -> bool:
            if not run.funded:
                return run.started_s < now_s
            richer = run.account != account and fairness.leaf[run.account] >= after + HYSTERESIS
            return richer and run.banked(now_s) and run.started_s < now_s

        return may_yield

    def _is_entitled(self, case: Case) -> bool:
        """Whether its account stays within its claim with the contract."""
        job = case.job
        contract_gpu_s = job.gpus * job.ask.min_runtime_s
        return self._world.fairness[job.pool].with_contract(job.ask.account or "", contract_gpu_s) <= 1.0

    def _worth_it(self, case: Case, leaving: list[Run]) -> bool:
        """Whether less is lost than half of what the asker's contract is worth."""
        lost_gpu_s = sum(run.gpus * run.lost_s(self._world.now_s) for run in leaving if run.funded)
        return 2 * lost_gpu_s <= case.job.gpus * max(HOUR_S, case.job.ask.min_runtime_s)

    def _within_limit(self, case: Case) -> bool:
        account = case.job.ask.account
        return account != LIMITED_TEAM or self._world.funded_gpus[LIMITED_TEAM] + case.job.gpus <= SLOT_LIMIT_GPUS


def _may_fit(machines: list[Machine], job: Job) -> bool:
    """Whether enough machines have room, were all unfunded runs away."""
    need = job.ask.gpus_per_node
    return len([machine for machine in machines if machine.free + machine.soft >= need]) >= job.ask.nodes


def _delay_s(case: Case) -> int:
    return DEBUG_DELAY_S if case.job.ask.kind == "debug" else DELAY_S
