"""`tenure grants`: extra GPU time for a while."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from ledger.events import GrantMade
from ledger.events.decisions import GrantMadeData
from ledger.units import GPU_HOUR_MS
from tenure import wiring
from tenure.cli import exits, instants, options, output
from tenure.cli.desk import SOURCE, confirm, decide, reading, writing
from tenure.cli.queries import read
from tenure.cli.text import below_root, gpu_hours, when

app = typer.Typer(no_args_is_help=True, help="List and make grants of GPU time.")


@app.command("list")
def list_(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="This one and all below it.")] = "",
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List the grants, with what has accrued of each by the last closed hour."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        rows: list[dict[str, Any]] = desk.store.query(read("grants"), {"cluster": name, "account": account}).dicts()
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if as_json:
        output.emit({"watermarks": watermarks, "cluster": name, "grants": rows})
        return
    columns = ("~Account", "*Pool", ">GPU-hours", ">Accrued", "*From", "*Until", "~By", "Why")
    made = output.table(f"{name}: grants", *columns)
    for row in rows:
        amounts = (gpu_hours(row["amount_gpu_ms"]), gpu_hours(row["accrued_gpu_ms"] or 0))
        times = (when(row["since"]), when(row["until"]))
        account_shown = below_root(row["account"])
        output.fill(made, [[account_shown, row["pool"], *amounts, *times, row["author"], row["reason"]]])
    output.show(made)
    output.tell(caption)


@app.command()
def make(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT")],
    hours: Annotated[str, typer.Argument(metavar="GPU_HOURS", help="Altogether, accruing evenly.")],
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="End, exclusive; or a length such as 7d.")],
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="Beginning; else now.")] = "",
    reason: options.Reason = "",
    author: options.Author = None,
    yes: options.Yes = False,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Grant an account GPU time of a pool over a period, on top of its share."""
    now = wiring.clock()
    begins = instants.parsed(since, "--from") if since else now
    ends = instants.later(until, begins, "--until")
    if ends <= begins:
        raise exits.Stop(f"a grant must end after it begins, and {when(ends)} is not after {when(begins)}")
    with writing(data, config) as (desk, pen):
        name = desk.cluster(cluster)
        pools = sorted(pen.state(name).health_at(desk.checkpoints[name].ticked_s))
        if pool is None and len(pools) != 1:
            raise exits.Stop(f"say of which pool with --pool: {', '.join(pools) or 'a GPU type'}")
        made = GrantMadeData(
            cluster=name,
            account=account,
            gpu_type=pool or pools[0],
            amount_gpu_ms=_amount(hours),
            since=begins,
            until=ends,
            author=desk.author(author),
            reason=reason,
        )
        told = f"{account} gets {gpu_hours(made.amount_gpu_ms)} GPU-hours of {made.gpu_type}"
        told += f" from {when(begins)} to {when(ends)} UTC"
        confirm(f"{told}?", yes=yes)
        event = GrantMade(id=f"grant/{wiring.new_id()}", source=SOURCE, time=now, data=made)
        decide(pen, event)
    if as_json:
        output.emit({"grant": event.id, **made.model_dump()})
        return
    output.say(f"{told}.")


def _amount(text: str) -> int:
    try:
        amount = int(Decimal(text.replace(",", "")) * GPU_HOUR_MS)
    except InvalidOperation as wrong:
        raise exits.Stop(f"{text!r} is no amount: write GPU-hours, like 500 or 12.5") from wrong
    if amount <= 0:
        raise exits.Stop("a grant is of more than nothing: write GPU-hours above 0")
    return amount
