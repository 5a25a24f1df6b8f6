"""`tenure maintenance`: when which nodes are to be out of service."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

import typer

from ledger.events import MaintenancePlanned
from ledger.events.decisions import MaintenancePlannedData
from ledger.standing import running
from ledger.state import State
from ledger.units import epoch_s, instant
from streams.sources.slurm.nodelist import ListWrong, expand
from tenure import wiring
from tenure.cli import exits, instants, options, output
from tenure.cli.desk import SOURCE, confirm, decide, reading, writing
from tenure.cli.queries import read
from tenure.cli.text import plural, when

SHOWN: Final = 4
"""Nodes that are named in a sentence or a cell."""

app = typer.Typer(help="List, plan and cancel maintenance windows.")


@app.callback(invoke_without_command=True)
def list_(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that are over or cancelled, too.")] = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List maintenance windows: which nodes are to be out of service, when, and why."""
    if context.invoked_subcommand is not None:
        return
    now = wiring.clock()
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        asked = {"cluster": name, "everything": everything, "now_s": epoch_s(now)}
        rows: list[dict[str, Any]] = desk.store.query(read("maintenance"), asked).dicts()
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    rows = [row | {"state": _state(row, now)} for row in rows]
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "windows": rows})
        return
    made = output.table(f"{name}: maintenance", "Window", "Nodes", "*From", "*Until", "*State", "~By", "Why")
    for row in rows:
        cells = [row["window"], _names(row["nodes"]), when(row["since"]), when(row["until"]), row["state"]]
        output.fill(made, [[*cells, row["author"], row["reason"]]])
    output.show(made)
    output.tell(caption)


def _state(row: dict[str, Any], now: datetime) -> str:
    if row["cancelled"]:
        return "cancelled"
    if now >= row["until"]:
        return "over"
    return "begun" if now >= row["since"] else "planned"


@app.command()
def plan(
    nodes: Annotated[str, typer.Option("--nodes", metavar="NODES", help="As Slurm writes them: gn[1-4],gn7.")],
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="Beginning; or a length from now, such as 2d.")],
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="End, exclusive; or a length such as 4h.")],
    window: Annotated[str, typer.Option("--window", metavar="NAME", help="Its name; one there is, is replaced.")] = "",
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Plan to take nodes out of service: nobody gets new room on them, and shortly before they are emptied."""
    now = wiring.clock()
    begins = instants.later(since, now, "--from")
    ends = instants.later(until, begins, "--until")
    if ends <= max(begins, now):
        raise exits.Stop(f"a window must end after it begins, and after now, and {when(ends)} UTC does not")
    named = _named(nodes)
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        state = pen.state(name)
        unknown = [node for node in named if node not in state.nodes]
        if unknown:
            raise exits.Stop(f"{name} has no node {_names(unknown)}: nothing was written", exits.NOTHING)
        planned = MaintenancePlannedData(
            cluster=name,
            window=window or f"M-{wiring.new_id()[:8]}",
            nodes=named,
            since=begins,
            until=ends,
            author=desk.author(author),
            reason=reason,
        )
        on_them, bound = _runs(state, planned)
        told = f"{planned.window}: {_names(named)} in maintenance from {when(begins)} to {when(ends)} UTC"
        if not as_json:
            output.tell(_what_runs(on_them, bound))
        confirm(f"{told}?", yes=yes)
        decide(pen, _event(planned, now))
    if as_json:
        output.emit({**planned.model_dump(), "runs": on_them, "protected_past_its_begin": bound})
        return
    output.say(f"{told}.")


def _named(nodes: str) -> tuple[str, ...]:
    try:
        found = tuple(dict.fromkeys(expand(nodes.replace(" ", ""))))
    except ListWrong as wrong:
        raise exits.Stop(f"--nodes: {wrong}") from wrong
    if not found:
        raise exits.Stop("--nodes names no node: write gn1,gn2 or gn[1-4]")
    return found


def _runs(state: State, planned: MaintenancePlannedData) -> tuple[int, int]:
    """How many runs are on the nodes now, and how many of them are protected beyond the window's begin."""
    nodes, since_s = set(planned.nodes), epoch_s(planned.since)
    there = [run for run in running(state) if nodes & {node for node, *_ in run.placements}]
    return len(there), sum(run.funded and run.contract_end_s > since_s for run in there)


def _what_runs(on_them: int, bound: int) -> str:
    if not on_them:
        return "Nothing runs on them now."
    told = f"{plural(on_them, 'run')} on them now"
    if not bound:
        return f"{told}; what is left shortly before is ordered off where the policy enforces."
    return f"{told}, of which {bound} may stay past its begin: inside their minimum runtime nobody orders them off."


def _event(planned: MaintenancePlannedData, now: datetime) -> MaintenancePlanned:
    return MaintenancePlanned(id=f"maintenance/{wiring.new_id()}", source=SOURCE, time=now, data=planned)


@app.command()
def cancel(
    window: Annotated[str, typer.Argument(metavar="WINDOW", help="As `tenure maintenance` names it.")],
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Take a window back, or end one that has begun: all is as before."""
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        found = pen.state(name).windows.get(window)
        if found is None:
            raise exits.Stop(f"{name} has no window {window} that is not over: see `tenure maintenance`", exits.NOTHING)
        planned = MaintenancePlannedData(
            cluster=name,
            window=window,
            nodes=found.nodes,
            since=instant(found.since_s),
            until=instant(found.until_s),
            cancelled=True,
            author=desk.author(author),
            reason=reason,
        )
        confirm(f"Cancel {window} ({_names(found.nodes)})?", yes=yes)
        decide(pen, _event(planned, wiring.clock()))
    if as_json:
        output.emit(planned.model_dump())
        return
    output.say(f"{window} is cancelled.")


def _names(nodes: list[str] | tuple[str, ...]) -> str:
    """The first few by name."""
    rest = len(nodes) - SHOWN
    return ", ".join(nodes[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
