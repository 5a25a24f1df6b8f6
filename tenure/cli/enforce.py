"""`tenure enforce`: follows what comes in by Kafka beside the workers, and enforces, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from enforcer.clusters import Enforcers
from tenure import wiring
from tenure.cli import options
from tenure.cli.brokers import broker
from tenure.cli.up import actuators
from tenure.cli.worker import ask_page, check, how, live
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.runtime.worker import Worker

LOG: Final = logging.getLogger(__name__)
GROUP: Final = "enforce"
"""Behind the workers' group: the same partitions are given to enforcers once more."""


def enforce(
    look: Annotated[
        str, typer.Option("--check", metavar="URL", help="Run nothing: ask an enforcer's health page. 0: well; 1: not.")
    ] = "",
    health_port: Annotated[
        int | None, typer.Option("--health-port", min=0, max=65_535, help="Serve /healthz there. Else as configured.")
    ] = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Enforce the clusters of a log in Kafka, until SIGTERM or Ctrl-C. A second one takes over where the first dies.

    Plans are carried out only where the cluster's policy says `enforce`, by what `actuators.CLUSTER` names.
    """
    if look:
        ask_page(look, as_json=as_json)
        return
    settings = wiring.load_settings(config)
    wiring.log_to_stderr()
    with _ready(data, settings, health_port) as made:
        asyncio.run(live(made))


@contextmanager
def _ready(data: Path | None, settings: Settings, health_port: int | None) -> Iterator[Worker]:
    from enforcer.enforcing import Enforcing  # noqa: PLC0415 -- see wiring
    from streams.runtime.worker import Worker  # noqa: PLC0415 -- see wiring

    address, place = broker(settings), wiring.place(data, settings)
    with (
        wiring.open_store(place) as store,
        wiring.open_publisher(address) as publisher,
        wiring.machine(settings.kafka.patience_s) as machine,
    ):
        with wiring.open_admin(address) as admin:
            check(admin, store, settings, address)
        LOG.info("enforces what Kafka at %s tells, beside the book at %s", address, place)
        role = Enforcing(store, publisher, Enforcers(actuators(settings)), machine.patience, machine.clock)
        yield Worker(role, how(settings.kafka, address, health_port, group=f"{settings.kafka.group}-{GROUP}"), machine)
