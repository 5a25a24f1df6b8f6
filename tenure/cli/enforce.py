"""`tenure enforce`: follows what comes in by Kafka beside the workers, and enforces, until it is told to stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tenure import wiring
from tenure.cli import options
from tenure.cli.up import enforcers
from tenure.cli.worker import Parts, ask_page, work
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.runtime.role import Role

LOG: Final = logging.getLogger(__name__)
GROUP: Final = "enforce"
"""Behind the workers' group: the same partitions are given to enforcers once more."""

TAKE_WITHIN_S: Final = 0.01
"""From a tick to an order its events are read back three times: what is waited for each time counts."""


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
    else:
        work(data, wiring.load_settings(config), health_port, _enforcing, TAKE_WITHIN_S)


def _enforcing(parts: Parts, settings: Settings) -> tuple[Role, str]:
    from enforcer.enforcing import Enforcing  # noqa: PLC0415 -- see wiring

    LOG.info("enforces what Kafka at %s tells, beside the book at %s", parts.address, parts.place)
    machine = parts.machine
    role = Enforcing(parts.store, parts.publisher, enforcers(settings), machine.patience, machine.clock)
    return role, f"{settings.kafka.group}-{GROUP}"
