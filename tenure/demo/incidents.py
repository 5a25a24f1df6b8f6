"""Failures, drains, maintenance and removal, acted out on the simulated cluster."""

from __future__ import annotations

from typing import Final, assert_never

from tenure.demo.cluster import Incident
from tenure.demo.running import Machine, Run
from tenure.demo.world import World

RECHECK_S: Final = 15 * 60


class Incidents:
    """Takes nodes of `world` away and brings them back; a node that is away already is spared."""

    def __init__(self, world: World, incidents: tuple[Incident, ...]) -> None:
        self._world = world
        self._machines = {machine.spec.name: machine for pool in world.machines.values() for machine in pool}
        world.on_vacated = self._vacated
        for incident in incidents:
            self._plan(incident)

    def _plan(self, incident: Incident) -> None:
        machine, later = self._machines[incident.node], self._world.later
        match incident.kind:
            case "failure":
                later(incident.at_s, lambda: self._fail(machine, incident))
            case "drain":
                later(incident.at_s, lambda: self._drain(machine, incident.reason, incident.lasts_s))
            case "window":
                notice_s = incident.at_s - incident.notice_s
                later(notice_s, lambda: self._drain(machine, incident.reason, None))
                later(incident.at_s, lambda: self._open(machine, incident))
            case "removal":
                later(incident.at_s, lambda: self._take_out(machine, incident))
            case kind:
                assert_never(kind)

    def _fail(self, machine: Machine, incident: Incident) -> None:
        if machine.state not in {"available", "draining"}:
            return
        self._world.change(machine, "down", incident.reason)
        for run in machine.runs():
            self._world.evict(run, "node_failure")
        self._return(machine, incident.lasts_s)

    def _drain(self, machine: Machine, reason: str, repair_s: int | None) -> None:
        """No new runs; who is not protected leaves at once, the others when their contracts are over."""
        if machine.state != "available":
            return
        machine.repair_s, machine.reason = repair_s, reason
        self._world.change(machine, "draining", reason)
        for run in machine.runs():
            self._leave_when_banked(machine, run)
        self._vacated(machine)

    def _leave_when_banked(self, machine: Machine, run: Run) -> None:
        world = self._world
        if machine.state != "draining" or not world.is_running(run):
            return
        if run.banked(world.now_s):
            world.evict(run, "requeued" if run.case.job.ask.resumable else "preempted")
            return
        over_s = max(run.contract_ends_s + run.stopped_s, world.now_s + RECHECK_S)
        world.later(over_s, lambda: self._leave_when_banked(machine, run))

    def _vacated(self, machine: Machine) -> None:
        if machine.state == "draining" and machine.repair_s is not None and machine.empty:
            self._world.change(machine, "planned_down", machine.reason)
            self._return(machine, machine.repair_s)

    def _open(self, machine: Machine, incident: Incident) -> None:
        """The window opens: what still runs has to go."""
        if machine.state not in {"available", "draining"}:
            return
        machine.repair_s = None
        self._world.change(machine, "planned_down", incident.reason)
        for run in machine.runs():
            self._world.evict(run, "requeued" if run.case.job.ask.resumable else "preempted")
        self._return(machine, incident.lasts_s)

    def _take_out(self, machine: Machine, incident: Incident) -> None:
        self._open(machine, incident)
        away_s = incident.lasts_s * 3 // 4
        self._world.later(self._world.now_s + incident.lasts_s - away_s, lambda: self._remove(machine, away_s))

    def _remove(self, machine: Machine, away_s: int) -> None:
        if machine.state == "planned_down":
            self._world.remove(machine)
            self._return(machine, away_s)

    def _return(self, machine: Machine, after_s: int) -> None:
        """Back to work after `after_s`, unless something else happens to `machine` first."""
        expected = machine.changes
        self._world.later(self._world.now_s + after_s, lambda: self._back(machine, expected))

    def _back(self, machine: Machine, expected: int) -> None:
        if machine.changes == expected:
            self._world.change(machine, "available", "back in service")
