"""`tenure shares`: who divides what, and who wants another part."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.table import Table

from ledger.decisions import effective_s
from ledger.events import SharesSet
from ledger.events.decisions import SharesSetData
from ledger.store.protocol import Value
from tenure import wiring
from tenure.cli import exits, instants, options, output, previews, reviews
from tenure.cli.desk import SOURCE, check, confirm, decide, reading, writing
from tenure.cli.figures import indented, number, path_order, without_gpus
from tenure.cli.queries import read
from tenure.cli.sharing import Part, latest, parts, preview, wanted
from tenure.cli.text import NONE, decimal, gpu_hours, gpus, moment, when

app = typer.Typer(no_args_is_help=True, help="Show, set, ask for and decide on shares.")
app.command()(reviews.request)
app.command()(reviews.requests)
app.command()(reviews.decide)


@app.command()
def show(
    parent: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="This one and all below it.")] = None,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show the shares in force, and what they come to a day."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        state = desk.state(name)
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    found = [p for p in parts(state) if parent is None or f"{p.account}/".startswith(f"{parent}/")]
    found.sort(key=lambda p: path_order(p.account))
    if not found:
        missing = without_gpus(state) if state.shares.revisions else ""
        revisions = f"{missing}. `tenure shares history` lists the sets there are"
        none = f"{name} has no shares of {parent or 'anybody'}: begin with `tenure shares set`"
        raise exits.Stop(revisions if missing else none, exits.NOTHING)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "shares": [_part_json(p) for p in found]})
        return
    output.show(_parts_table(found, f"{name}: shares in force, and GPU-hours a day of what is healthy now"))
    output.tell(caption)


def _parts_table(found: list[Part], title: str) -> Table:
    pools = list(found[0].daily_gpu_ms)
    columns = (">Percent", ">Slots", ">Revision", "*In force since", *(f">{pool}" for pool in pools))
    made = output.table(title, "*Account", *columns)
    for part in found:
        output.fill(
            made,
            [
                [
                    indented(part.account),
                    " | ".join(dict.fromkeys(p or NONE for p in part.percent.values())),
                    gpus(part.slot_limit_milli) if part.slot_limit_milli is not None else NONE,
                    str(part.revision) if part.revision is not None else NONE,
                    moment(part.effective_s),
                    *(gpu_hours(part.daily_gpu_ms[pool]) for pool in pools),
                ]
            ],
        )
    return made


def _part_json(part: Part) -> output.Report:
    return {
        "account": part.account,
        "share_percent": part.percent,
        "of_all": {pool: str(share) for pool, share in part.of_all.items()},
        "daily_gpu_ms": part.daily_gpu_ms,
        "slot_limit_milli": part.slot_limit_milli,
        "revision": part.revision,
        "effective_at": output.iso_s(part.effective_s),
    }


# ---------------------------------------------------------------- set


@app.command("set")
def set_(
    parent: Annotated[str, typer.Argument(metavar="PARENT", help="The account whose claim is divided.")],
    children: Annotated[
        list[str] | None, typer.Argument(metavar="CHILD=PERCENT[/GPUS]...", help="Others keep what they have.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="CHILD", help="Take its share away.")] = None,
    expect: Annotated[int | None, typer.Option("--expect", help="Only if the set is at this revision.")] = None,
    effective: Annotated[str, typer.Option("--effective", metavar="TIME", help="In force from then; else now.")] = "",
    backdated: Annotated[bool, typer.Option("--backdated", help="In force before now; needs a reason.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, write nothing.")] = False,
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Divide an account's claim: shows who gains and loses, asks, and writes the next revision."""
    if not children and not remove:
        raise exits.Stop("name what to change: CHILD=PERCENT, such as vision=30, or --remove CHILD")
    now = wiring.clock()
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        state = pen.state(name)
        from_at = instants.parsed(effective, "--effective") if effective else None
        set_of = wanted(latest(state, pool or "", parent), children or [], remove or [])
        facts = SharesSetData(
            cluster=name,
            parent=parent,
            gpu_type=pool,
            children=set_of,
            author=desk.author(author),
            reason=reason,
            expected_revision=expect if expect is not None else revision_of(latest(state, pool or "", parent)),
            effective_at=from_at,
            backdated=backdated,
        )
        event = SharesSet(id=f"shares/{wiring.new_id()}", source=SOURCE, time=now, data=facts)
        check(pen, event)
        seen = preview(state, pool or "", parent, set_of, effective_s(event))
        if not as_json:
            previews.tell(seen, effective_s(event))
        if not dry_run:
            confirm("Write it?", yes=yes)
            decide(pen, event)
    if as_json:
        output.emit(
            previews.preview_json(seen) | {"written": not dry_run, "effective_at": output.iso_s(effective_s(event))}
        )


def revision_of(revision: object) -> int:
    """Its number; 0 before the first."""
    return int(getattr(revision, "revision", 0))


# ---------------------------------------------------------------- history


@app.command()
def history(
    parent: Annotated[str, typer.Argument(metavar="PARENT", help="One parent's sets; else all.")] = "",
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List every revision: who decided what, when, and why."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        asked: dict[str, Value] = {"cluster": name, "parent": parent}
        rows: list[dict[str, Any]] = desk.store.query(read("share_history"), asked).dicts()
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if not rows:
        raise exits.Stop(f"{name} has no shares of {parent or 'anybody'}", exits.NOTHING)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "revisions": rows})
        return
    made = output.table(f"{name}: revisions of shares", "~Parent", ">Rev", "*In force since", "~By", "Children", "Why")
    for key in dict.fromkeys((str(r["parent"]), str(r["pool"]), number(r["revision"])) for r in rows):
        mine = [r for r in rows if (str(r["parent"]), str(r["pool"]), number(r["revision"])) == key]
        first = mine[0]
        told = ", ".join(f"{r['child']} {decimal(Decimal(str(r['share_percent'])))}" for r in mine)
        since = when(first["effective_at"]) + ("*" if first["in_force"] else "")
        parent_shown = f"{key[0]} ({key[1]})" if key[1] else key[0]
        output.fill(made, [[parent_shown, str(key[2]), since, str(first["author"]), told, str(first["reason"])]])
    output.show(made)
    output.tell(f"* in force. {caption}")
