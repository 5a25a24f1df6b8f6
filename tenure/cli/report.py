"""`tenure report`: the budget review pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tenure.cli import exits, options, output
from tenure.cli.desk import reading
from tenure.cli.text import plural
from tenure.report import csv, machine, text
from tenure.report.pack import Pack
from tenure.report.period import Asked, PeriodRefused
from tenure.report.review import NotThere, Wanted, review

Since = Annotated[
    str | None, typer.Option("--from", metavar="INSTANT", help="Beginning: 2026-03-01 or 2026-03-01T14:00, in --tz.")
]
Until = Annotated[
    str | None, typer.Option("--to", metavar="INSTANT", help="End, exclusive. Else the last closed hour.")
]
Last = Annotated[str | None, typer.Option("--last", metavar="LENGTH", help="Back from the last closed hour: 7d, 24h.")]
Month = Annotated[str | None, typer.Option("--month", metavar="YYYY-MM", help="A calendar month in --tz.")]
Zone = Annotated[str, typer.Option("--tz", metavar="ZONE", help="Time zone, off UTC by whole hours: Europe/Berlin.")]
Account = Annotated[str | None, typer.Option("--account", metavar="PATH", help="One account and all below it.")]


def report(
    cluster: options.Cluster = None,
    pool: options.Pool = None,
    account: Account = None,
    since: Since = None,
    until: Until = None,
    last: Last = None,
    month: Month = None,
    zone: Zone = "UTC",
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="INSTANT", help="As things stood: nothing later counts.")
    ] = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="INSTANT", help="As it was known then: no later correction.")
    ] = None,
    csv_folder: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="A CSV file per section, exact integers.")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="The picture, as SVG.")] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="The picture, as PNG.")] = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Review a budget: what a subtree of accounts was owed, got and did with it.

    Without --csv, --svg or --png it is printed. docs/report.md explains every section.
    """
    with reading(data, config) as desk:
        wanted = Wanted(
            desk.cluster(cluster),
            pool or "",
            account or "",
            Asked(since, until, last, month),
            zone,
            as_of,
            known_at,
        )
        try:
            pack = review(desk.store, wanted)
        except PeriodRefused as refused:
            raise exits.Stop(str(refused)) from refused
        except NotThere as absent:
            raise exits.Stop(str(absent), exits.NOTHING) from absent
    written = _files(pack, csv_folder, svg, png)
    if as_json:
        output.emit(machine.report(pack))
    elif not written:
        output.console().print(text.render(pack))
    for path in written:
        output.note(f"Wrote {path}.")


def _files(pack: Pack, csv_folder: Path | None, svg: Path | None, png: Path | None) -> list[str]:
    """Write what was asked for; says what is where."""
    written = []
    try:
        if csv_folder is not None:
            written.append(f"{plural(len(csv.write(pack, csv_folder)), 'file')} in {csv_folder}")
        if svg is not None or png is not None:
            from tenure.report import picture  # noqa: PLC0415 -- matplotlib takes a second to import

            for path in filter(None, (svg, png)):
                picture.draw(pack, path, "svg" if path is svg else "png")
                written.append(str(path))
    except OSError as wrong:
        raise exits.Stop(f"{wrong.filename or 'the file'} cannot be written ({wrong.strerror})") from wrong
    return written
