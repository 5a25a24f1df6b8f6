"""`tenure policy`: the few numbers a cluster's people set, who set them, and the switch that stops enforcement."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from enforcer.preview import Emptied, preview
from ledger.acts import ENFORCE, PAUSED
from ledger.events import PolicySet
from ledger.events.decisions import PolicySetData
from ledger.state import State
from ledger.units import epoch_s
from tenure import wiring
from tenure.cli import exits, instants, options, output
from tenure.cli.desk import SOURCE, Desk, check, confirm, decide, reading, writing
from tenure.cli.pens import Pen
from tenure.cli.policies import MEANS, Field, Row, before_pause, changed, in_force, plain, wanted
from tenure.cli.queries import read
from tenure.cli.text import plural, when

app = typer.Typer(help="Show and set a cluster's policy, pause and resume enforcement.")


@app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    at: Annotated[str, typer.Option("--at", metavar="TIME", help="In force then, UTC; else now.")] = "",
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show the policy in force, and who set it; without --cluster of every cluster."""
    if context.invoked_subcommand is not None:
        return
    instant = instants.parsed(at, "--at") if at else wiring.clock()
    with reading(data, config) as desk:
        found = {
            name: in_force(desk.state(name), _decisions(desk, name), epoch_s(instant))
            for name in desk.clusters(cluster)
        }
        watermarks = desk.watermarks()
    if as_json:
        told = [{"cluster": name, "policy": [_field_json(f) for f in fields]} for name, fields in found.items()]
        output.emit({"watermarks": watermarks, "at": output.iso(instant), "clusters": told})
        return
    for name, fields in found.items():
        output.show(_table(fields, f"{name}: policy in force at {when(instant)} UTC"))
        enforcement = next(str(f.value) for f in fields if f.name == "enforcement")
        output.tell(f"{enforcement}: {MEANS[enforcement]}.")


def _decisions(desk: Desk, cluster: str) -> list[dict[str, Any]]:
    return desk.store.query(read("policy_history"), {"cluster": cluster}).dicts()


def _table(fields: list[Field], title: str) -> Table:
    made = output.table(title, "*Field", "*Value", "*Since", "~By", "Why")
    for field in fields:
        who = ("by itself", "", "") if field.row is None else _who(field.row)
        output.fill(made, [[field.name, plain(field.name, field.value), *who]])
    return made


def _who(row: Row) -> tuple[str, str, str]:
    return when(row["occurred_at"]), str(row["author"]), str(row["reason"])


def _field_json(field: Field) -> output.Report:
    row = field.row
    who = None if row is None else {"at": row["occurred_at"], "author": row["author"], "reason": row["reason"]}
    return {"field": field.name, "value": field.value, "set": who}


@app.command()
def history(
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List every change of the policy, the latest first: who decided what, when, and why."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        rows = _decisions(desk, name)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        changes = [row | {"changed": changed(row)} for row in rows]
        output.emit({"watermarks": watermarks, "cluster": name, "changes": changes})
        return
    if not rows:
        raise exits.Stop(f"nobody has set {name}'s policy: all is as `tenure policy` shows it", exits.NOTHING)
    made = output.table(f"{name}: changes of the policy, the latest first", "*From", "~By", "Changed", "Why")
    output.show(output.fill(made, [[when(r["occurred_at"]), r["author"], r["detail"], r["reason"]] for r in rows]))
    output.tell(caption)


# ---------------------------------------------------------------- setting


@app.command("set")
def set_(
    changes: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="As `tenure policy` names them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, write nothing.")] = False,
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Change fields of the policy from now on: shows what they are and will be, asks, and writes it."""
    named = wanted(changes)
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        event = _event(name, desk.author(author), reason, named)
        before = {f.name: f.value for f in in_force(pen.state(name), (), epoch_s(event.time))}
        after = {field: getattr(event.data, field) for field in named}
        differs = {field for field, value in after.items() if value != before[field]}
        if differs:
            check(pen, event)
        if not as_json:
            _preview(pen.state(name), name, before, after)
        if differs and not dry_run:
            confirm("Write it?", yes=yes)
            decide(pen, event)
    if as_json:
        told = [{"field": f, "before": before[f], "after": after[f]} for f in after]
        output.emit({"cluster": name, "changes": told, "written": bool(differs) and not dry_run})
    elif not differs:
        output.say("It is so already: nothing was written.")


def _event(cluster: str, author: str, reason: str, named: dict[str, object]) -> PolicySet:
    facts = PolicySetData.model_validate({"cluster": cluster, "author": author, "reason": reason, **named})
    return PolicySet(id=f"policy/{wiring.new_id()}", source=SOURCE, time=wiring.clock(), data=facts)


def _preview(state: State, cluster: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    made = output.table(f"{cluster}: policy from now on", "*Field", "*Now", "*Then")
    output.show(output.fill(made, [[f, plain(f, before[f]), plain(f, value)] for f, value in after.items()]))
    enforcement = after.get("enforcement")
    if enforcement is None or enforcement == before["enforcement"]:
        return
    output.tell(f"{enforcement}: {MEANS[enforcement]}.")
    if enforcement == ENFORCE:
        _would_act(state)


def _would_act(state: State) -> None:
    """Whom it would order off by the facts of the last tick."""
    made = [it for _, it in preview(state).made]
    emptied = [it for it in made if isinstance(it, Emptied)]
    runs, off = sum(it.orders for it in made), sum(it.orders for it in emptied)
    told = f"{plural(runs - off, 'run')} would have to leave for {plural(len(made) - len(emptied), 'job')}"
    if emptied:
        told += f", and {off} more off {plural(len(emptied), 'node')} to be emptied"
    output.tell(f"As things stood at the last tick, {told}: `tenure plans` says which and why.")


# ---------------------------------------------------------------- pause, resume


@app.command()
def pause(
    reason: options.Reason = "",
    author: options.Author = None,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Stop enforcement at once, without being asked: no plan is made until `tenure policy resume`."""
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        before = _enforcement(pen, name)
        if before != PAUSED:
            decide(pen, _event(name, desk.author(author), reason, {"enforcement": PAUSED}))
        left = _open(pen.state(name))
    _tell_switch(name, before, PAUSED, as_json=as_json)
    if not as_json:
        output.tell(left)


@app.command()
def resume(
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Go on as before the pause: `enforce` where that was in force, else `observe`."""
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        now, before = wiring.clock(), _enforcement(pen, name)
        after = before_pause(pen.state(name), epoch_s(now)) if before == PAUSED else before
        if after != before:
            if after == ENFORCE and not as_json:
                _would_act(pen.state(name))
            confirm(f"Let {name} {after} again?", yes=yes)
            decide(pen, _event(name, desk.author(author), reason, {"enforcement": after}))
    _tell_switch(name, before, after, as_json=as_json)


def _enforcement(pen: Pen, cluster: str) -> str:
    return pen.state(cluster).policy_at(epoch_s(wiring.clock())).enforcement


def _tell_switch(cluster: str, before: str, after: str, *, as_json: bool) -> None:
    if as_json:
        output.emit({"cluster": cluster, "before": before, "enforcement": after, "written": before != after})
        return
    told = f"is {after} and was {before}" if before != after else f"is {after} already: nothing was written"
    output.tell(f"{cluster}: enforcement {told}. {after}: {MEANS[after]}.")


def _open(state: State) -> str:
    """What becomes of plans that are under way."""
    under_way = [plan for plan in state.acts.open() if plan.enforces]
    if not under_way:
        return "No plan was under way."
    ordered = sum(bool(plan.issued) for plan in under_way)
    return (
        f"{plural(len(under_way), 'plan')} under way: {ordered} have ordered runs off and are carried to their end, "
        f"{len(under_way) - ordered} are dropped."
    )
