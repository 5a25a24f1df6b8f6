"""`tenure topics`: the topics in Kafka, whether they are as they must be, and making those that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from streams import topics as table
from streams.topics import TOPICS, Found, Topic, Wrong
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.brokers import broker
from tenure.cli.text import NONE, count, duration, plural
from tenure.config import Settings

if TYPE_CHECKING:
    from streams.kafka.admin import Admin

app = typer.Typer(help="Check the topics in Kafka, and make them.")


@app.callback(invoke_without_command=True)
def check(
    context: typer.Context,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Check the topics: 0 as they must be, 1 something is wrong; says the command that mends it."""
    if context.invoked_subcommand is not None:
        return
    settings = wiring.load_settings(config)
    address = broker(settings)
    with wiring.open_admin(address) as admin:
        found, wrong = looked_at(admin, settings, address)
    if as_json:
        output.emit({"address": address, "topics": [_json(t, found) for t in TOPICS], "wrong": _wrong_json(wrong)})
    else:
        output.show(_table(found, wrong, address))
        tell_wrong(wrong)
    if wrong:
        raise typer.Exit(exits.FINDINGS)


@app.command()
def create(
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", min=1, metavar="N", help="Of events and of samples: the most workers at once."),
    ] = None,
    replication: Annotated[
        int | None,
        typer.Option("--replication", min=1, metavar="N", help="Copies. Else as configured, else three."),
    ] = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Make the topics that are missing. Those that are there stay as they are; again, it makes nothing."""
    settings = wiring.load_settings(config)
    address = broker(settings)
    with wiring.open_admin(address) as admin:
        copies = table.copies(replication or settings.kafka.replication, admin.cluster().brokers)
        made = table.missing(admin.found(), partitions)
        if made:
            admin.create(made, copies)
        found = admin.found()
    wrong = list(table.check(found, copies, address))
    if as_json:
        output.emit({"address": address, "made": [_json(topic, found) for topic in made], "wrong": _wrong_json(wrong)})
    else:
        for topic in made:
            there = found[topic.name]
            told = f"{plural(there.partitions, 'partition')}, {plural(there.replication, 'copy', 'copies')}"
            output.say(f"Made {topic.name}: {told}, kept {_kept(topic)}.")
        if not made:
            output.say("All topics are there: nothing was made.")
        tell_wrong(wrong)
    if wrong:
        raise typer.Exit(exits.FINDINGS)


def looked_at(admin: Admin, settings: Settings, address: str) -> tuple[dict[str, Found], list[Wrong]]:
    """The topics as they are, and what is wrong with them."""
    found = admin.found()
    copies = table.copies(settings.kafka.replication, admin.cluster().brokers)
    return found, list(table.check(found, copies, address))


def tell_wrong(wrong: list[Wrong]) -> None:
    """Each topic that is not as it must be, with the command that mends it."""
    for it in wrong:
        output.wrapped(f"{it.topic}: ", it.what)
        output.say(f"    {it.command}")


def _table(found: dict[str, Found], wrong: list[Wrong], address: str) -> Table:
    columns = ("*Topic", "*Key", ">Partitions", ">Copies", "*Kept", "Carries", "*State")
    made = output.table(f"Topics of Kafka at {address}", *columns)
    states = {it.topic: "loses records" if it.loses else "see below" for it in reversed(wrong)}
    for topic in TOPICS:
        there = found.get(topic.name)
        state = states.get(topic.name, "right") if there is not None else "missing"
        numbers = (count(there.partitions), count(there.replication)) if there is not None else (NONE, NONE)
        shown = output.styled(state, "green" if state == "right" else "bold red")
        output.fill(made, [[topic.name, topic.key, *numbers, _kept(topic, there), topic.carries, shown]])
    return made


def _kept(topic: Topic, there: Found | None = None) -> str:
    """How long its records are kept: as it is, else as it must be."""
    milli = (there.settings if there is not None else topic.config(1)).get("retention.ms", "")
    if not milli.lstrip("-").isdigit():
        return NONE
    return duration(int(milli) // 1000) if int(milli) >= 0 else "for ever"


def _json(topic: Topic, found: dict[str, Found]) -> output.Report:
    there = found.get(topic.name)
    return {
        "topic": topic.name,
        "key": topic.key,
        "carries": topic.carries,
        "there": there is not None,
        "partitions": there.partitions if there is not None else None,
        "replication": there.replication if there is not None else None,
        "settings": {name: there.settings.get(name) for name in topic.config(1)} if there is not None else None,
    }


def _wrong_json(wrong: list[Wrong]) -> list[output.Report]:
    return [{"topic": it.topic, "what": it.what, "command": it.command, "loses_records": it.loses} for it in wrong]
