"""`tenure worker`: folds what comes in by Kafka, until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ledger.checkpoint import by_cluster
from ledger.store.protocol import Store
from streams.kafka import StreamError
from streams.topics import LOGS
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.brokers import broker
from tenure.cli.text import count, duration
from tenure.cli.topics import looked_at
from tenure.config import KafkaConfig, Settings

if TYPE_CHECKING:
    from streams.kafka.admin import Admin
    from streams.kafka.producer import Publisher
    from streams.runtime.role import Role
    from streams.runtime.worker import Machine, Worker

LOG: Final = logging.getLogger(__name__)
ANSWER_S: Final = 5.0
"""How long the health page may take."""
PATH: Final = "/healthz"


def worker(
    look: Annotated[
        str, typer.Option("--check", metavar="URL", help="Run nothing: ask a worker's health page. 0: well; 1: not.")
    ] = "",
    health_port: Annotated[
        int | None, typer.Option("--health-port", min=0, max=65_535, help="Serve /healthz there. Else as configured.")
    ] = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Fold what comes in by Kafka into the book, until SIGTERM or Ctrl-C. As many may run as there are partitions."""
    if look:
        ask_page(look, as_json=as_json)
    else:
        work(data, wiring.load_settings(config), health_port, _folding)


def _folding(parts: Parts, settings: Settings) -> tuple[Role, str]:
    from streams.kafka import letters  # noqa: PLC0415 -- see wiring
    from streams.runtime.folding import Folding  # noqa: PLC0415 -- see wiring

    if parts.place.server is None:
        LOG.info("nobody else can open the book at %s meanwhile: for more than this, keep it on a server", parts.place)
    LOG.info("folds what Kafka at %s has into the book at %s", parts.address, parts.place)
    telling = letters.telling(parts.store, lambda found: letters.tell(parts.publisher, found))
    return Folding(telling, parts.publisher, parts.machine, settings.kafka.tick_s), settings.kafka.group


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker of any role is put together from: a log and a store that fit each other."""

    address: str
    place: wiring.Place
    store: Store
    publisher: Publisher
    machine: Machine


def work(
    data: Path | None,
    settings: Settings,
    health_port: int | None,
    role_of: Callable[[Parts, Settings], tuple[Role, str]],
    take_within_s: float = 0.1,
) -> None:
    """Run a worker until it is told to stop; `role_of` makes its role, and names its group.

    Records that come within `take_within_s` are taken together.

    Raises a StoreError or a StreamError where log and store do not fit each other.
    """
    from streams.runtime.worker import Worker  # noqa: PLC0415 -- see wiring

    wiring.log_to_stderr()
    address, place = broker(settings), wiring.place(data, settings)
    with (
        wiring.open_store(place) as store,
        wiring.open_publisher(address) as publisher,
        wiring.machine(settings.kafka.patience_s) as machine,
    ):
        with wiring.open_admin(address) as admin:
            _check_topics(admin, settings, address)
            _check_places(admin, store, address)
            store.settle_log(admin.home())
        role, group = role_of(Parts(address, place, store, publisher, machine), settings)
        how = replace(_how(settings.kafka, address, health_port, group=group), take_within_s=take_within_s)
        asyncio.run(live(Worker(role, how, machine)))


def _how(kafka: KafkaConfig, address: str, health_port: int | None, *, group: str) -> Any:  # noqa: ANN401
    """How a worker of that group runs, as configured."""
    from streams.runtime.worker import Settings as How  # noqa: PLC0415 -- see wiring

    return How(
        address,
        name=group,
        save_every_s=kafka.save_every_s,
        stall_s=kafka.stall_s,
        health_host=kafka.health_host,
        health_port=kafka.health_port if health_port is None else health_port,
    )


def _check_topics(admin: Admin, settings: Settings, address: str) -> None:
    """Stop where a topic is missing or loses records; tell of what is otherwise not as it must be."""
    _, wrong = looked_at(admin, settings, address)
    for it in wrong:
        if not it.loses:
            LOG.warning("%s: %s; mend it with: %s", it.topic, it.what, it.command)
    losing = [it for it in wrong if it.loses]
    if losing:
        told = "; ".join(f"{it.topic}: {it.what}; mend it with: {it.command}" for it in losing)
        raise StreamError(f"records would be lost. {told}")


def _check_places(admin: Admin, store: Store, address: str) -> None:
    """Stop where the log and what the store holds of it do not fit."""
    for misfit in _misfits(admin, store, address):
        raise StreamError(misfit)


def _misfits(admin: Admin, store: Store, address: str) -> Iterator[str]:
    from streams.kafka.fit import held, misfits  # noqa: PLC0415 -- see wiring

    names = {topic.name for topic in LOGS}
    spans = admin.spans({name: topic for name, topic in admin.found().items() if name in names})
    booked = by_cluster(store.checkpoints(store.live_generation()))
    clusters = {name: checkpoint.position.of for name, checkpoint in booked.items()}
    return misfits(spans, held(store, spans), clusters, address)


async def live(worker: Worker) -> None:
    """Run until a signal; the second one does not wait for what is being taken."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    running, stopped = asyncio.create_task(worker.run()), asyncio.create_task(told.wait())
    await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)
    if not running.done():
        LOG.info("stops: what is being taken is carried through and checkpointed")
        await worker.stop()
    await running
    if not told.is_set():
        raise StreamError("the worker ended though nobody told it to: the lines above say why; start it again")
    LOG.info("stopped")


# ---------------------------------------------------------------- how is it


def ask_page(url: str, *, as_json: bool) -> None:
    """What the health page says; `exits.FINDINGS` where it is red."""
    status, body = wiring.fetch(url if PATH in url else f"{url.rstrip('/')}{PATH}", ANSWER_S)
    try:
        told: dict[str, Any] = json.loads(body)
        well = bool(told["well"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise StreamError(f"{url} is no worker's health page: it answers {status}") from wrong
    if as_json:
        output.emit(told)
    else:
        _tell(told)
    if not well:
        raise typer.Exit(exits.FINDINGS)


def _place(lane: dict[str, Any]) -> tuple[str, int]:
    topic, _, number = str(lane["partition"]).rpartition("/")
    return topic, int(number)


def _tell(told: dict[str, Any]) -> None:
    columns = ("*Partition", ">Next", ">Lag", ">Waiting", ">Last take", ">Last commit", "*State")
    made = output.table("Partitions this worker has", *columns)
    for lane in sorted(told["partitions"], key=_place):
        state = "stands still" if lane["partition"] in told["stalled"] else "gets on"
        numbers = [count(lane[name]) for name in ("next_offset", "lag", "waiting")]
        ages = [f"{duration(round(lane[name]))} ago" for name in ("last_take_age_s", "last_commit_age_s")]
        shown = output.styled(state, "green" if state == "gets on" else "bold red")
        output.fill(made, [[lane["partition"], *numbers, *ages, shown]])
    output.show(made)
    if told["trouble"]:
        output.tell(f"Trouble: {told['trouble']}")
    output.say("It is well." if told["well"] else "It is not well.")
