"""`tenure up`: one process that collects what is configured, folds it, lets time pass, and enforces."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from enforcer.actuators.nobody import Nobody
from enforcer.actuators.slurm_queue import Publishing
from enforcer.beside import Beside
from enforcer.clusters import Enforcers
from enforcer.orders import Actuator
from streams.sources.config import SourceConfig
from streams.sources.slurm.live.kept import cursor_file
from tenure import wiring
from tenure.actuators import actuator, publishing
from tenure.cli import options
from tenure.cli.collect import FOLDER, Telling
from tenure.cli.collecting import Book, Collector
from tenure.cli.desk import folding, open_place
from tenure.config import Settings

LOG: Final = logging.getLogger(__name__)


class Polled(Protocol):
    """What is asked for news."""

    def poll(self, now_s: float) -> None:
        """Ask, if it is time."""
        ...


@dataclass(slots=True)
class Poller:
    """A cluster that is asked every so often, and what was said of it last."""

    collector: Collector
    every_s: int
    telling: Telling
    due_s: float = 0.0

    def poll(self, now_s: float) -> None:
        """Poll if it is time."""
        if now_s >= self.due_s:
            self.due_s = now_s + self.every_s
            self.telling.tell(self.collector, self.collector.poll(wiring.clock()))


def up(data: options.Data = None, config: options.Config = None, as_json: options.Json = False) -> None:
    """Collect what the configuration names under `collect`, keep the book, and enforce, until SIGTERM or Ctrl-C.

    Plans are carried out only where the cluster's policy says `enforce`, by what `actuators.CLUSTER` names.
    """
    settings = wiring.load_settings(config)
    wiring.log_to_stderr()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with _parts(data, config, settings, as_json=as_json) as (beside, pollers):
        go_on(beside, pollers, stop)
    LOG.info("stopped")


def go_on(beside: Beside, polled: Sequence[Polled], stop: threading.Event) -> None:
    """Do what is due and poll what it is time for, every whole second, which is when time alone makes something due.

    First what is due, which need not wait for a poll, then what a poll tells of.
    """
    while not stop.is_set():
        beside.look()
        for one in polled:
            one.poll(wiring.monotonic_s())
        beside.look()
        stop.wait(1 - wiring.now_s() % 1)


@contextmanager
def _parts(
    data: Path | None, config: Path | None, settings: Settings, *, as_json: bool
) -> Iterator[tuple[Beside, list[Poller]]]:
    with ExitStack() as stack:
        store, place, _ = stack.enter_context(open_place(data, config, create=True))
        runtime = stack.enter_context(folding(store, place))
        sink = Book(runtime, f"the book at {place}")
        pollers = []
        for name, how in settings.collect.items():
            source = settings.slurm.get(name) or SourceConfig(cluster=name)
            file = stack.enter_context(cursor_file(place.folder / FOLDER / f"slurm-{source.cluster}.json"))
            collector = Collector(source, partial(wiring.open_slurm, how), file, sink)
            pollers.append(Poller(collector, how.every, Telling(as_json)))
            LOG.info("polls %s every %s s", source.cluster, how.every)
        LOG.info("keeps and enforces the book at %s", place)
        yield Beside(runtime, enforcers(settings), wiring.clock), pollers


def enforcers(settings: Settings) -> Enforcers:
    """How each cluster's scheduler is told what is decided, and given our order, as configured."""

    def told(cluster: str) -> Actuator:
        configured = settings.actuators.get(cluster)
        return Nobody(cluster) if configured is None else actuator(configured, wiring.slurm_environment(), wiring.now_s)

    def published(cluster: str) -> Publishing | None:
        configured = settings.actuators.get(cluster)
        return None if configured is None else publishing(configured, wiring.slurm_environment())

    return Enforcers(told, wiring.clock, published)
