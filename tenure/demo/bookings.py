"""Machines that gangs have booked: no other funded run starts there until they are free of contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ledger.units import HOUR_S
from tenure.demo.cluster import GPUS_PER_NODE
from tenure.demo.running import Case, Machine
from tenure.demo.world import World

AT_ONCE: Final = 1
"""Bookings of a pool; more would send too many banked runs away."""


@dataclass(frozen=True, slots=True)
class Booking:
    """`case` waits for these machines."""

    case: Case
    machines: tuple[Machine, ...]


class Bookings:
    """The bookings of one pool."""

    __slots__ = ("_held", "_pool", "_world")

    def __init__(self, world: World, pool: str) -> None:
        self._world = world
        self._pool = pool
        self._held: list[Booking] = []

    def unbooked(self) -> list[Machine]:
        """Machines on which any funded run may start."""
        if not self._held:
            return self._world.machines[self._pool]
        booked = {machine for booking in self._held for machine in booking.machines}
        return [machine for machine in self._world.machines[self._pool] if machine not in booked]

    def book(self, case: Case) -> None:
        """Book the machines that will be free of contracts soonest and cheapest, if enough are left to book."""
        if any(booking.case is case for booking in self._held):
            return
        candidates = [machine for machine in self.unbooked() if machine.state == "available"]
        if len(self._held) >= AT_ONCE or len(candidates) < case.job.ask.nodes:
            return
        candidates.sort(key=self._cost)
        self._held.append(Booking(case, tuple(candidates[: case.job.ask.nodes])))

    def settle(self) -> None:
        """Forget bookings that came to nothing; start the gangs whose machines are free of contracts."""
        for booking in list(self._held):
            usable = all(machine.state == "available" for machine in booking.machines)
            if not booking.case.waiting or not usable:
                self._held.remove(booking)
            elif all(self._is_ready(machine) for machine in booking.machines):
                self._held.remove(booking)
                self._take(booking)

    def _take(self, booking: Booking) -> None:
        for machine in booking.machines:
            for run in machine.runs():
                self._world.evict(run, "preempted")
        self._world.start(booking.case, booking.machines)

    def _is_ready(self, machine: Machine) -> bool:
        now_s = self._world.now_s
        return all(run.banked(now_s) and run.started_s < now_s for run in machine.runs())

    def _cost(self, machine: Machine) -> tuple[int, str]:
        """GPU-seconds until contracts are over and, on top, what its funded runs would lose now."""
        now_s = self._world.now_s
        funded = [run for run in machine.runs() if run.funded]
        wait_s = max((run.contract_ends_s + run.stopped_s - now_s for run in funded), default=0)
        lost_gpu_s = sum(run.gpus * (run.lost_s(now_s) + HOUR_S) for run in funded)
        return (GPUS_PER_NODE * max(0, wait_s) + lost_gpu_s, machine.spec.name)
