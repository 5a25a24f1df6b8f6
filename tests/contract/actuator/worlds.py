"""What the contract asks of a scheduler behind an actuator, and the ones there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from deploy.processes import until
from enforcer.actuators.slurm import Slurm
from enforcer.orders import Actuator, Hold, Order
from tests.support.slurm import SLEEPS, Cluster

Test = TypeVar("Test", bound=Callable[..., None])
How = Literal["requeue", "cancel"]

REQUEUES: Final = "requeues"
HOLDS: Final = "holds"
RESTARTS: Final = "restarts"
KILLS: Final = "kills"
SHOWS_WHY: Final = "shows why"


def needs(*what: str) -> Callable[[Test], Test]:
    """Runs the test only with the schedulers that can do it; that the others refuse by name is tested elsewhere."""

    def mark(test: Test) -> Test:
        test.needs = frozenset(what)  # type: ignore[attr-defined]
        return test

    return mark


def only(*names: str) -> Callable[[Test], Test]:
    """Runs the test only with these."""

    def mark(test: Test) -> Test:
        test.only = frozenset(names)  # type: ignore[attr-defined]
        return test

    return mark


class World(Protocol):
    """A scheduler with runs on it."""

    @property
    def actuator(self) -> Actuator: ...

    def run(self, *, how: How = "cancel", grace_s: int = 60, stubborn: bool = False) -> Order:
        """A run that holds GPUs, and the order for it to leave."""
        ...

    def unwilling(self) -> Order:
        """A run whose order the scheduler refuses."""
        ...

    def end(self, order: Order) -> None:
        """The run ends without anybody's order."""
        ...

    def told(self, order: Order) -> int:
        """How often the run was made to leave, as the scheduler or the run itself noticed."""
        ...

    def why(self, order: Order) -> str:
        """What the run's user is shown."""
        ...

    def away(self) -> AbstractContextManager[None]:
        """Nobody answers."""
        ...

    def restart(self) -> None:
        """The scheduler is stopped and started again."""
        ...

    def ask(self) -> Hold:
        """A job that waits for nodes which runs hold, and the hold of these nodes."""
        ...

    def make_room(self, hold: Hold) -> None:
        """The runs on the nodes end."""
        ...

    def compete(self) -> str:
        """Another user's job that fits on the nodes once they are free."""
        ...

    def runs(self, job: str, within_s: float = 20.0) -> bool:
        """Whether a job comes to run."""
        ...


class RealSlurm:
    """The Slurm of deploy/slurm."""

    def __init__(self, slurm: Cluster, connect: Callable[[Cluster], Slurm], notes: Path) -> None:
        self.slurm = slurm
        self._connect = connect
        self._notes = notes
        self._actuator = connect(slurm)

    @property
    def actuator(self) -> Actuator:
        return self._actuator

    def run(self, *, how: How = "cancel", grace_s: int = 60, stubborn: bool = False) -> Order:
        """A script that writes down each SIGTERM; it ends on the first unless it is stubborn."""
        name = f"{time.monotonic_ns()}"
        then = "" if stubborn else "exit 0"
        script = f"trap 'echo told >> {self._notes}/{name}; {then}' TERM; while :; do sleep 0.1; done"
        job = self.slurm.running(script, f"--job-name={name}", gpus=1)
        return self._order(job, how, grace_s)

    def unwilling(self) -> Order:
        return self._order(self.slurm.running(SLEEPS, "--no-requeue", gpus=1), "requeue", 0)

    def end(self, order: Order) -> None:
        """By its own user."""
        self.slurm.run("setpriv", "--reuid=labalice", "--clear-groups", "scancel", order.job)
        self.slurm.wait(order.job, "CANCELLED")

    def told(self, order: Order) -> int:
        if order.how == "requeue":
            shown = self.slurm.run("scontrol", "-o", "show", "job", order.job)
            return int(next(word for word in shown.split() if word.startswith("Restarts=")).partition("=")[2])
        name = self.slurm.run("squeue", "-h", "-t", "all", "-j", order.job, "-o", "%j").strip()
        notes = self._notes / name
        until(notes.exists, 3)
        time.sleep(0.5)
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def why(self, order: Order) -> str:
        return self.slurm.run("squeue", "-h", "-t", "all", "-j", order.job, "-O", "admin_comment:|").strip()

    @contextmanager
    def away(self) -> Iterator[None]:
        self.slurm.lab.stop("slurmctld")
        try:
            yield
        finally:
            self.slurm.lab.start("slurmctld")

    def restart(self) -> None:
        self.slurm.lab.stop("slurmctld")
        self.slurm.lab.start("slurmctld")
        self._actuator = self._connect(self.slurm)  # and whoever used it was started again, too

    def ask(self) -> Hold:
        for node in self.slurm.lab.shape.names:
            self.slurm.running(SLEEPS, on=node)
        asker = self.slurm.submit(nodes=2, user="labbob")
        self.slurm.wait(asker, "PENDING")
        return Hold("lab", "gpu/1/asker", asker, (("gn1", 8000), ("gn2", 8000)), int(time.time()) + 300)

    def ask_beside(self) -> Hold:
        """A job that waits for a node whose run is the test's."""
        asker = self.slurm.submit(user="labbob", on="gn1")
        return Hold("lab", "gpu/1/asker", asker, (("gn1", 8000),), int(time.time()) + 300)

    def make_room(self, hold: Hold) -> None:
        on = {node for node, _ in hold.nodes}
        jobs = self.slurm.run("squeue", "-h", "-t", "R", "-o", "%i %N").splitlines()
        self.slurm.run("scancel", *(line.split()[0] for line in jobs if line.split()[1] in on))

    def compete(self) -> str:
        return self.slurm.submit("exec sleep 600", "--nice=-1000", gpus=1)

    def runs(self, job: str, within_s: float = 20.0) -> bool:
        return until(lambda: self.slurm.row(job).state == "RUNNING", within_s)

    def _order(self, job: str, how: How, grace_s: int) -> Order:
        row = self.slurm.row(job)
        return Order(
            "lab", "gpu/1/77", job, row.submit, how, grace_s, (row.nodes,), f"Job 77 needs {row.nodes}'s GPUs."
        )
