"""`tenure enforcement-log`: what the enforcer decided and did, in order."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ledger.events.acts import Mode
from ledger.store.protocol import Value
from ledger.units import epoch_s
from tenure.cli import instants, options, output
from tenure.cli.acting import Acted, acts
from tenure.cli.desk import reading
from tenure.cli.text import plural, to_second

LIMIT: Final = 40


def enforcement_log(
    job: Annotated[str, typer.Option("--job", metavar="JOB", help="Plans in which it asks or yields.")] = "",
    account: Annotated[str, typer.Option("--account", metavar="PATH", help="The same of it and all below it.")] = "",
    mode: Annotated[Mode | None, typer.Option("--mode", help="Only told, or carried out.")] = None,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Not before, UTC.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Before, UTC.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Acts at most, the latest.")] = LIMIT,
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List what the enforcer did: plans, orders, what came of them, room held, and why plans were over."""
    wanted: dict[str, Value] = {"job": job, "account": account, "mode": mode or "", "pool": pool or ""}
    wanted["since_s"] = epoch_s(instants.parsed(since, "--since")) if since else 0
    wanted["until_s"] = epoch_s(instants.parsed(until, "--until")) if until else 0
    with reading(data, config) as desk:
        name = desk.cluster(cluster)
        found = acts(desk.store, wanted | {"cluster": name, "limit": limit + 1})
        watermarks, caption = desk.watermarks(), desk.as_of(name)
    more, shown = len(found) > limit, found[:limit][::-1]
    if as_json:
        told = [_json(act) for act in shown]
        output.emit({"watermarks": watermarks, "cluster": name, "acts": told, "truncated": more})
        return
    if shown:
        _show(name, shown)
    earlier = "There are earlier ones: --limit shows them. " if more else ""
    output.tell(f"{earlier}{caption}" if shown else f"The enforcer did nothing of that kind. {caption}")


def _show(cluster: str, shown: list[Acted]) -> None:
    made = output.table(f"{cluster}: {plural(len(shown), 'act')} of the enforcer", "*At", "*Act", "*Mode", "What")
    cells = [[to_second(act.row["at"]), act.row["act"], act.row["mode"], act.sentence] for act in shown]
    output.show(output.fill(made, cells))


def _json(act: Acted) -> output.Report:
    row = act.row
    run = {"job": row["job"], "attempt": row["attempt"] or None, "account": row["account"] or None}
    about = {"at": row["at"], "act": row["act"], "mode": row["mode"], "pool": row["pool"], "plan": row["plan"]}
    return {**about, **run, "sentence": act.sentence}
