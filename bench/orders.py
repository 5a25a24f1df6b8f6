"""From an asker's due time to the order, live: what the scheduler's side receives by webhook, on both runtimes.

A cluster of 1,024 GPUs is full of unfunded work on whole nodes; funded jobs of a node each come in over a minute or
two, and each is due when its delay is over. The clock starts there, at the whole second the book counts from, and stops
when the order arrives at the receiver, which lets the run end and the asker start, as a scheduler would.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.report import Figure, Line, Missing
from deploy.kafka import node
from deploy.processes import Trouble
from enforcer.actuators.webhook import Webhook
from enforcer.beside import Beside
from enforcer.clusters import Enforcers
from streams.kafka.producer import publisher
from tenure import wiring
from tenure.cli.up import go_on
from tests.support.receiver import SECRET, Call, Receiver

CLUSTER: Final = "lab"
NODES: Final = 128
NODE_MILLI: Final = 8_000
TEAMS: Final = 16
DELAY_S: Final = 5
APART_S: Final = 3.0
"""On average, between two askers."""
LATE_S: Final = 60.0
LEAVES_S: Final = 0.3

Tell = Callable[[Sequence[bytes]], None]


@dataclass(slots=True)
class Site:
    """A lab that tells what happens, and whose receiver does what it is told."""

    tell: Tell
    dice: Random = field(default_factory=lambda: Random(7))
    receiver: Receiver = field(default_factory=Receiver)
    due_s: dict[str, int] = field(default_factory=dict)
    """By asker."""

    def begin(self) -> None:
        """The book opens, and everything is taken."""
        before = datetime.now(UTC) - timedelta(minutes=20)
        policy = {"preemption_delay_s": DELAY_S, "debug_delay_s": DELAY_S, "enforcement": "enforce"}
        teams = [{"child": f"t{n}", "share_percent": 6} for n in range(TEAMS)]
        told = [
            event("policy.set", author="root", opens_at=before.isoformat(), **policy),
            event("shares.set", author="root", parent="lab", children=teams, expected_revision=0),
        ]
        for n in range(NODES):
            state = {"gpus_milli": NODE_MILLI, "state": "available", "gpu_type": "h100"}
            told.append(event("node.observed", before, node=f"n{n}", **state))
            self.receiver.runs[f"v{n}", "1"] = "cooperative"
            terms = {"user": "ann", "gpus_milli": NODE_MILLI, "min_runtime_s": 0, "resumable": True}
            told.append(event("job.submitted", before, job=f"v{n}", **terms))
            told.append(started(f"v{n}", f"n{n}", before))
        self.tell(told)

    def ask(self, job: str) -> None:
        """A funded job begins to wait."""
        now = datetime.now(UTC)
        shape = {"nodes": 1, "gpus_per_node_milli": NODE_MILLI}
        account = f"lab/t{self.dice.randrange(TEAMS)}"
        terms = {"user": "bob", "account": account, "min_runtime_s": 3600, "gpus_milli": NODE_MILLI, "shape": shape}
        self.due_s[job] = int(now.timestamp()) + DELAY_S
        self.tell([event("job.submitted", now, job=job, **terms)])

    def orders(self) -> dict[str, Call]:
        """The first order of each plan, by its asker."""
        found: dict[str, Call] = {}
        for call in list(self.receiver.calls):
            if call.kind == "preempt":
                found.setdefault(call.data["plan"].rsplit("/", 1)[1], call)
        return found

    def live(self, askers: int) -> None:
        """Askers come, and what was ordered off ends a moment later, until all have their order or it is too late."""
        seen: set[str] = set()
        come_s = time.monotonic()
        until_s = come_s + askers * APART_S + LATE_S
        while len(seen) < askers and time.monotonic() < until_s:
            if len(self.due_s) < askers and time.monotonic() >= come_s:
                self.ask(f"a{len(self.due_s)}")
                come_s += self.dice.uniform(0, 2 * APART_S)
            for job, call in self.orders().items():
                if job not in seen and time.time() >= call.at_s + LEAVES_S:
                    seen.add(job)
                    run = call.data
                    ended = event("job.ended", job=run["job"], attempt=run["attempt"], outcome="requeued")
                    self.tell([ended, started(job, f"n{run['job'][1:]}")])
            time.sleep(0.02)

    def late_s(self) -> list[float]:
        """From due to order."""
        return [call.at_s - self.due_s[job] for job, call in self.orders().items()]


def event(kind: str, at: datetime | None = None, **data: object) -> bytes:
    now = at or datetime.now(UTC)
    subject = data.get("job", "") or data.get("node", "")
    told = {"specversion": "1.0", "type": f"tenure.{kind}.v1", "id": f"{kind}/{subject}/{now.isoformat()}"}
    return json.dumps(told | {"source": "bench", "time": now.isoformat(), "data": {"cluster": CLUSTER} | data}).encode()


def started(job: str, host: str, at: datetime | None = None) -> bytes:
    return event("job.started", at, job=job, attempt="1", placements=[{"node": host, "gpus_milli": NODE_MILLI}])


# ---------------------------------------------------------------- the two runtimes


class Fed:
    """What stands for a collector: what happened meanwhile is ingested at each poll."""

    def __init__(self) -> None:
        self.happened: SimpleQueue[bytes] = SimpleQueue()
        self.ingest: Callable[[list[bytes]], object] = len

    def tell(self, told: Sequence[bytes]) -> None:
        for one in told:
            self.happened.put(one)

    def poll(self, _: float) -> None:
        found: list[bytes] = []
        while True:
            try:
                found.append(self.happened.get_nowait())
            except Empty:
                break
        if found:
            self.ingest(found)


@contextmanager
def embedded() -> Iterator[Site]:
    """The loop of `tenure up` over a book on disk, polling every second."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        place = wiring.Place(Path(folder))
        store = stack.enter_context(wiring.open_store(place))
        runtime = stack.enter_context(wiring.open_runtime(store, place))
        fed, stop = Fed(), threading.Event()
        fed.ingest = runtime.ingest
        site = Site(fed.tell)
        webhook = Webhook(site.receiver.served.url, SECRET, wiring.now_s)
        beside = Beside(runtime, Enforcers(lambda _: webhook, wiring.clock), wiring.clock)
        loop = threading.Thread(target=go_on, args=(beside, [fed], stop))
        loop.start()
        try:
            yield site
        finally:
            stop.set()
            loop.join()
            site.receiver.served.close()


@contextmanager
def kafka() -> Iterator[Site]:
    """`tenure worker` and `tenure enforce` as processes, the book behind an HTTP endpoint."""
    from bench.kafka import stage  # noqa: PLC0415 -- imported when it is run, as its peers are
    from tests.e2e.kafka.enforced import configured  # noqa: PLC0415
    from tests.e2e.kafka.plant import running  # noqa: PLC0415

    with TemporaryDirectory() as folder, stage.broker() as broker, stage.server() as server, ExitStack() as stack:
        sender = stack.enter_context(publisher(broker.address))
        site = Site(lambda told: sender.put_all("tenure.events", ((CLUSTER, one) for one in told)))
        book = configured(Path(folder), broker.address, server.address, site.receiver.served.url)
        try:
            workers = [stack.enter_context(running(book, role)) for role in ("worker", "enforce")]
            for worker in workers:
                worker.begin()
            yield site
        finally:
            site.receiver.served.close()


def latency(askers: int = 40) -> Iterator[Line]:
    """Both, one after the other."""
    try:
        node.fetch()
        there: dict[str, Callable[[], Any]] = {"tenure up": embedded, "tenure enforce, Kafka": kafka}
    except Trouble as trouble:
        yield Missing("due to order, Kafka", str(trouble))
        there = {"tenure up": embedded}
    for name, runtime in there.items():
        with runtime() as site:
            site.begin()
            time.sleep(5)
            site.live(askers)
            late_s = sorted(site.late_s())
        cuts = quantiles(late_s, n=100, method="inclusive")
        note = f"{len(late_s)} of {askers} askers, the slowest {late_s[-1]:.2f} s"
        yield Figure(f"due to order, {name}: p50", cuts[49], "s", None)
        yield Figure(f"due to order, {name}: p99", cuts[98], "s", 1, less=True, note=note)
