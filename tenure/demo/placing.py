"""Where a job fits: whole gangs on free GPUs, or on GPUs others would have to give up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenure.demo.jobs import Job
from tenure.demo.running import Machine, Run

MayYield = Callable[[Run], bool]


def fitting(machines: Sequence[Machine], job: Job) -> list[Machine] | None:
    """The fullest machines that can take `job` now, or None; unfunded work may borrow."""
    need = job.ask.gpus_per_node
    if job.funded:
        roomy = [machine for machine in machines if machine.free >= need]
    else:
        roomy = [machine for machine in machines if machine.borrowable >= need]
    if len(roomy) < job.ask.nodes:
        return None
    if job.ask.nodes == 1:
        return [min(roomy, key=_room)]
    return roomy[: job.ask.nodes]


def victims(machines: Sequence[Machine], job: Job, may_yield: MayYield, at_s: int) -> list[Run] | None:
    """The runs to send away so that funded `job` fits, on the machines where least is lost, or None."""
    options: list[tuple[int, int, list[Run]]] = []
    for position, machine in enumerate(machines):
        leaving = _leaving(machine, job.ask.gpus_per_node, may_yield)
        if leaving is not None:
            lost = sum(run.gpus * (run.lost_s(at_s) + 60) for run in leaving)
            options.append((lost, position, leaving))
    if len(options) < job.ask.nodes:
        return None
    options.sort(key=_by_loss)
    chosen = [run for _, _, leaving in options[: job.ask.nodes] for run in leaving]
    return list(dict.fromkeys(chosen))


def _leaving(machine: Machine, need: int, may_yield: MayYield) -> list[Run] | None:
    """The newest runs on `machine` whose GPUs would make room for `need`, or None."""
    if machine.state != "available":
        return None
    if machine.free >= need:
        return []
    gain: dict[Run, int] = {}
    for owner, lender in zip(machine.owners, machine.lenders, strict=True):
        if owner is not None and lender is None:
            gain[owner] = gain.get(owner, 0) + 1
    room, leaving = machine.free, []
    for run in sorted(filter(may_yield, gain), key=_by_age):
        room += gain[run]
        leaving.append(run)
        if room >= need:
            return leaving
    return None


def _room(machine: Machine) -> tuple[int, str]:
    return (machine.borrowable, machine.spec.name)


def _by_age(run: Run) -> tuple[int, int]:
    return (-run.started_s, run.case.job.number)


def _by_loss(option: tuple[int, int, list[Run]]) -> tuple[int, int]:
    return option[:2]
