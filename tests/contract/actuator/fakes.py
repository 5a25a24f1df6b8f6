"""The schedulers of the contract that are not real: a receiver of webhooks, and two APIs labelled as fakes."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from itertools import count

from beaker import beaker_pb2 as pb

from enforcer.actuators.beaker import Beaker, Rpc
from enforcer.actuators.http import Http
from enforcer.actuators.kubernetes import WHY, Pods, Workloads
from enforcer.actuators.webhook import Webhook
from enforcer.orders import Actuator, Hold, Order
from tests.contract.actuator.worlds import How
from tests.support.fake_beaker import TOKEN, FakeBeaker
from tests.support.fake_kubernetes import FakeKubernetes, Object
from tests.support.receiver import SECRET, Receiver

_numbers = count(1)


class Fake:
    """What none of them has: a queue behind it. No test that needs one runs with them."""

    def restart(self) -> None:
        """Its state is not in the process that is restarted."""

    def ask(self) -> Hold:
        return Hold("lab", "gpu/1/asker", "asker", (("gn1", 8000),), int(time.time()) + 300)

    def make_room(self, hold: Hold) -> None:
        raise NotImplementedError

    def compete(self) -> str:
        raise NotImplementedError

    def runs(self, job: str, within_s: float = 20.0) -> bool:
        return False


class Hooked(Fake):
    """A receiver of webhooks."""

    def __init__(self) -> None:
        self.receiver = Receiver()
        self._actuator = self._connect()

    @property
    def actuator(self) -> Actuator:
        return self._actuator

    def run(self, *, how: How = "cancel", grace_s: int = 60, stubborn: bool = False) -> Order:
        return self._run("stubborn" if stubborn else "cooperative", how, grace_s)

    def unwilling(self) -> Order:
        return self._run("guarded", "cancel", 60)

    def end(self, order: Order) -> None:
        del self.receiver.runs[order.job, order.attempt]

    def told(self, order: Order) -> int:
        return self.receiver.told[order.job, order.attempt]

    def why(self, order: Order) -> str:
        return self.receiver.why[order.job, order.attempt]

    def away(self) -> AbstractContextManager[None]:
        return self.receiver.served.away()

    def restart(self) -> None:
        self._actuator = self._connect()

    def _connect(self) -> Webhook:
        return Webhook(f"{self.receiver.served.url}/hook", SECRET, time.time, timeout_s=2)

    def _run(self, kind: str, how: How, grace_s: int) -> Order:
        job = f"run{next(_numbers)}"
        self.receiver.runs[job, "7"] = kind
        return Order("lab", "gpu/1/77", job, "7", how, grace_s, ("gn1",), "Job 77 needs gn1's GPUs.")


class Kubed(Fake):
    """The fake of Kubernetes, with pods or with workloads of Kueue."""

    def __init__(self, *, kueue: bool) -> None:
        self.fake = FakeKubernetes()
        self.kueue = kueue
        http = Http(self.fake.served.url, timeout_s=2)
        self._actuator: Actuator = Workloads(http) if kueue else Pods(http)

    @property
    def actuator(self) -> Actuator:
        return self._actuator

    def run(self, *, how: How = "cancel", grace_s: int = 60, stubborn: bool = False) -> Order:
        name = f"run{next(_numbers)}"
        made = self.fake.workload(name) if self.kueue else self.fake.pod(name)
        if stubborn:
            self.fake.stubborn.add(self._path(f"lab/{name}"))
        uid = made["metadata"]["uid"]
        return Order("lab", "gpu/1/77", f"lab/{name}", uid, how, grace_s, ("gn1",), "Job 77 needs gn1's GPUs.")

    def unwilling(self) -> Order:
        order = self.run()
        self.fake.guarded.add(self._path(order.job))
        return order

    def end(self, order: Order) -> None:
        status: Object = self.fake.objects[self._path(order.job)]["status"]
        status["phase"] = "Succeeded"
        status["conditions"] = [{"type": "Finished", "status": "True"}]

    def told(self, order: Order) -> int:
        return self.fake.evictions[self._path(order.job)]

    def why(self, order: Order) -> str:
        return str(self.fake.objects[self._path(order.job)]["metadata"]["annotations"][WHY])

    def away(self) -> AbstractContextManager[None]:
        return self.fake.served.away()

    def runs(self, job: str, within_s: float = 20.0) -> bool:
        conditions = self.fake.objects[self._path(job)]["status"].get("conditions", [])
        return {"type": "Admitted", "status": "True"} in conditions

    def _path(self, job: str) -> str:
        name = job.rpartition("/")[2]
        base = "/apis/kueue.x-k8s.io/v1beta1" if self.kueue else "/api/v1"
        return f"{base}/namespaces/lab/{'workloads' if self.kueue else 'pods'}/{name}"


class Beakered(Fake):
    """The fake of Beaker."""

    def __init__(self) -> None:
        self.fake = FakeBeaker()
        self._actuator = self._connect()

    @property
    def actuator(self) -> Actuator:
        return self._actuator

    def run(self, *, how: How = "cancel", grace_s: int = 60, stubborn: bool = False) -> Order:
        made = self.fake.run(resumes=how == "requeue")
        if stubborn:
            self.fake.stubborn.add(made.id)
        return Order("lab", "gpu/1/77", made.task_id, made.id, how, grace_s, ("gn1",), "Job 77 needs gn1's GPUs.")

    def unwilling(self) -> Order:
        order = self.run()
        self.fake.guarded.add(order.attempt)
        return order

    def end(self, order: Order) -> None:
        self.fake.finalize(self.fake.jobs[order.attempt], pb.STATUS_SUCCEEDED)

    def told(self, order: Order) -> int:
        return self.fake.preemptions[order.attempt]

    def why(self, order: Order) -> str:
        return self.fake.jobs[order.attempt].status.canceled_for

    def away(self) -> AbstractContextManager[None]:
        return self.fake.away()

    def restart(self) -> None:
        self._actuator = self._connect()

    def runs(self, job: str, within_s: float = 20.0) -> bool:
        return any(one.task_id == job and one.status.status == pb.STATUS_RUNNING for one in self.fake.jobs.values())

    def _connect(self) -> Beaker:
        return Beaker(Rpc(self.fake.url, TOKEN, timeout_s=2))
