"""`tenure accounts`: where everybody stands."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from ledger.tree import lineage
from tenure.cli import exits, options, output
from tenure.cli.desk import reading
from tenure.cli.figures import Line, indented, line_json, lines, window, without_gpus
from tenure.cli.text import gpu_hours, moment, percent, ratio


def accounts(
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="This one and all below it.")] = None,
    days: Annotated[int | None, typer.Option("--days", min=1, help="Days back; else the ranking's window.")] = None,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show claim, owed, delivered and ρ of every account, pool by pool."""
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        state = desk.state(name)
        from_s, until_s = window(state, days)
        known = lines(desk.store, state, from_s, until_s)
        found = [
            line
            for line in known
            if (pool is None or line.pool == pool) and (account is None or account in lineage(line.account))
        ]
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    if not found:
        raise exits.Stop((not known and without_gpus(state)) or _absent(name, account, pool), exits.NOTHING)
    if as_json:
        period = {"from": output.iso_s(from_s), "until": output.iso_s(until_s)}
        lined = [line_json(line) for line in found]
        output.emit({"watermarks": watermarks, "cluster": name, **period, "accounts": lined})
        return
    period_shown = f"{moment(from_s)} to {moment(until_s)} UTC"
    for at, pool_shown in enumerate(sorted({line.pool for line in found})):
        title = f"{name}, {pool_shown}: GPU-hours, {period_shown}"
        here = [line for line in found if line.pool == pool_shown]
        output.say() if at else None
        output.show(_table(here, title))
    output.tell(f"Claim: share of healthy GPUs. Owed: min(claim + grants, demand). ρ: used of the claim. {caption}")


def _absent(cluster: str, account: str | None, pool: str | None) -> str:
    """That there is no such account, or none at all."""
    if account is None and pool is None:
        return f"{cluster} has no shares, and nothing is booked there: begin with `tenure shares set`"
    where = f" in {pool}" if pool is not None else ""
    return f"{cluster} has no account {account}{where}" if account is not None else f"{cluster} has no account{where}"


def _table(found: list[Line], title: str) -> Table:
    made = output.table(
        title,
        "*Account",
        ">Claim",
        ">Grants",
        ">Owed",
        ">Refunds",
        ">Delivered",
        ">Met",
        ">Unfunded",
        ">ρ",
    )
    for line in found:
        if is_still(line):
            continue
        amounts = (
            line.claim_gpu_ms,
            line.grant_gpu_ms,
            line.owed_gpu_ms,
            line.refunded_gpu_ms,
            line.delivered_gpu_ms,
        )
        met = percent(line.met_gpu_ms, line.owed_gpu_ms)
        tail = (met, gpu_hours(line.unfunded_gpu_ms), ratio(line.ratio))
        output.fill(made, [[indented(line.account), *map(gpu_hours, amounts), *tail]])
    return made


def is_still(line: Line) -> bool:
    """Whether there is nothing to say of the account, as of an own part with nothing in it."""
    return not any(line[2:-1]) and (line.ratio is None or not line.ratio.terms[0])
