"""Every test here runs on every actuator, with the scheduler it acts on: a real Slurm, or a labelled fake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enforcer.actuators.http import Http
from enforcer.actuators.slurm import Slurm
from enforcer.actuators.slurm_cli import Commands
from enforcer.actuators.slurm_rest import Rest
from tests.contract.actuator.fakes import Beakered, Hooked, Kubed
from tests.contract.actuator.worlds import HOLDS, KILLS, REQUEUES, RESTARTS, SHOWS_WHY, RealSlurm, World
from tests.support.slurm import Cluster, notes, slurm, slurm_lab

__all__ = ["notes", "slurm", "slurm_lab"]

PATIENCE_S = 5.0
"""Slurm's own is 9 to 18 s."""
CAN = {
    "slurm_cli": {REQUEUES, HOLDS, RESTARTS, KILLS, SHOWS_WHY},
    # Nothing can be written to a job, so it cannot be seen after a restart that the job was signalled.
    "slurm_rest": {KILLS},
    "webhook": {RESTARTS, KILLS, SHOWS_WHY},
    "kubernetes_pods": {RESTARTS, KILLS, SHOWS_WHY},
    "kubernetes_kueue": {REQUEUES, RESTARTS, SHOWS_WHY},
    "beaker": {REQUEUES, RESTARTS, SHOWS_WHY},
}
"""What each interface offers."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        needed: frozenset[str] = getattr(metafunc.function, "needs", frozenset())
        among = getattr(metafunc.function, "only", CAN.keys())
        names = [name for name, can in CAN.items() if needed <= can and name in among]
        metafunc.parametrize("world", names, indirect=True)


def by_commands(slurm: Cluster) -> Slurm:
    commands = Commands(slurm.lab.env, timeout_s=PATIENCE_S)
    return Slurm(commands, commands)


def by_rest(slurm: Cluster) -> Slurm:
    return Slurm(Rest(Http(f"unix:{slurm.lab.rest_socket}", timeout_s=PATIENCE_S)))


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A scheduler and its actuator."""
    match request.param:
        case "webhook":
            hooked = Hooked()
            yield hooked
            hooked.receiver.served.close()
        case "kubernetes_pods" | "kubernetes_kueue":
            kubed = Kubed(kueue=request.param == "kubernetes_kueue")
            yield kubed
            kubed.fake.served.close()
        case "beaker":
            beakered = Beakered()
            yield beakered
            beakered.fake.close()
        case how:
            connect = {"slurm_cli": by_commands, "slurm_rest": by_rest}[how]
            yield RealSlurm(request.getfixturevalue("slurm"), connect, request.getfixturevalue("notes"))
