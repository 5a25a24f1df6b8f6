"""`tenure replay`: the book made again from its log."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from ledger.checkpoint import by_cluster
from ledger.store.protocol import Store, TableDifference
from streams.replay import replay as fold_anew
from streams.replay import sum_samples
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.desk import open_place, unfolded
from tenure.cli.text import NONE, count, gpu_hours, plural

ACCOUNTS_SHOWN = 30


def replay(
    generation: Annotated[
        str | None, typer.Argument(metavar="[GENERATION]", help="Name of the new generation; else the next number.")
    ] = None,
    switch: Annotated[bool, typer.Option("--switch", help="Let the views show it when it is done.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep it beside the live one without switching.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Fold the whole log into another generation and compare it with the live one. 0: equal; 1: they differ."""
    with open_place(data, config) as (store, place, _):
        if unfolded(store):
            with wiring.open_runtime(store, place):
                pass
        live = store.live_generation()
        total = sum(c.events for found in store.checkpoints(live).values() for c in found.values())
        if not total:
            raise exits.Stop(f"the book at {place} is empty: there is nothing to replay", exits.NOTHING)
        made = generation or _next(live)
        if made == live:
            raise exits.Stop(f"{made} is the generation the views show: name another")
        store.drop_generation(made)
        records = _fold(store, made, total)
        if switch or keep:
            _sum_samples(store, made)
        differences = store.compare_generations(live, made)
        accounts = store.query("difference_by_account", {"a": live, "b": made}).dicts() if differences else []
        if switch:
            store.set_live_generation(made)
        elif not keep:
            store.drop_generation(made)
    if as_json:
        output.emit(_json(live, made, records, differences, accounts, switched=switch))
    else:
        _tell(live, made, records, differences, accounts)
        output.say(_fate(live, made, switch=switch, keep=keep))
    if differences:
        raise typer.Exit(exits.FINDINGS)


def _next(live: str) -> str:
    """`g2` after `g1`."""
    number = live.removeprefix("g")
    return f"g{int(number) + 1}" if number.isdigit() else f"{live}-again"


def _fold(store: Store, made: str, total: int) -> int:
    with output.bars() as bars:
        bar = bars.bar(f"Folding the log into {made}", total)
        records = fold_anew(store, made, progress=bar.advance).records
        bar.done()
    return records


def _sum_samples(store: Store, made: str) -> None:
    """The sums of GPU samples are no part of the log: made again from the samples there are."""
    checkpoints = store.checkpoints(made)
    with output.bars() as bars:
        bar = bars.bar("Summing samples by run and hour", len(by_cluster(checkpoints)))
        sum_samples(store, made, checkpoints, bar.advance)
        bar.done()


def _tell(
    live: str, made: str, records: int, differences: list[TableDifference], accounts: list[dict[str, Any]]
) -> None:
    output.say(f"Folded {plural(records, 'record')} into {made}.")
    if not differences:
        output.say(f"{made} equals {live} in every row.", style="green")
        return
    output.show(_table(live, made, differences))
    if accounts:
        output.say()
        output.show(_by_account(live, made, accounts[:ACCOUNTS_SHOWN]))


def _table(live: str, made: str, differences: list[TableDifference]) -> Table:
    found = output.table("Rows that differ", "*Table", f">Only in {live}", f">Only in {made}")
    rows = ([d.table, count(d.only_in_a), count(d.only_in_b)] for d in differences)
    return output.fill(found, rows)


def _by_account(live: str, made: str, accounts: list[dict[str, Any]]) -> Table:
    found = output.table(
        "Postings that differ, GPU-hours", "~Account", "*Pool", "*Class", "*Kind", f">{live}", f">{made}", ">Difference"
    )
    for row in accounts:
        amounts = (row["a_gpu_ms"], row["b_gpu_ms"], row["difference_gpu_ms"])
        output.fill(found, [[row["account"] or NONE, row["pool"], row["class"], row["kind"], *map(gpu_hours, amounts)]])
    return found


def _fate(live: str, made: str, *, switch: bool, keep: bool) -> str:
    if switch:
        return f"The views show {made} now; {live} is kept: `tenure replay {live} --switch` goes back."
    return f"The views still show {live}; {made} is {'kept' if keep else 'gone again'}."


def _json(
    live: str,
    made: str,
    records: int,
    differences: list[TableDifference],
    accounts: list[dict[str, Any]],
    *,
    switched: bool,
) -> output.Report:
    return {
        "live": made if switched else live,
        "compared": [live, made],
        "records": records,
        "equal": not differences,
        "tables": [
            {"table": d.table, f"only_in_{live}": d.only_in_a, f"only_in_{made}": d.only_in_b} for d in differences
        ],
        "accounts": accounts,
        "switched": switched,
    }
