"""`tenure sql`: typed SQL over the public views."""

from __future__ import annotations

import csv
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ledger.store.protocol import Limits, Table, Value
from tenure.cli import exits, options, output
from tenure.cli.desk import reading
from tenure.cli.text import NONE, plural

DEFAULT = Limits()
SHOWN_ROWS = 200
"""As many rows are shown to people; programs get all within the limit."""


def sql(
    query: Annotated[
        str | None, typer.Argument(metavar="SELECT|-", help="One SELECT over the report_* views; - reads stdin.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="Bound to {NAME:Type} in the query.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the query from a file instead.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, with a header.")] = False,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows at most.")] = DEFAULT.max_rows,
    max_seconds: Annotated[int, typer.Option("--max-seconds", min=1, help="Time at most.")] = DEFAULT.max_execution_s,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Ask the book in SQL, read-only. docs/sql.md has every view and column."""
    text = _query(query, file)
    limits = Limits(max_execution_s=max_seconds, max_rows=max_rows)
    with reading(data, config) as desk:
        answer = desk.store.ask(text, _parameters(parameter or []), limits=limits)
    if as_json:
        output.emit(_json(answer))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([_cell(value, none="") for value in row] for row in answer.rows)
    else:
        _show(answer)
    if answer.truncated:
        output.note(f"There are more rows: these are the first {max_rows:,}. Ask for fewer, or raise --max-rows.")


def _query(query: str | None, file: Path | None) -> str:
    if file is not None:
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as wrong:
            raise exits.Stop(f"{file} cannot be read ({wrong}): name a file with a query") from wrong
    if query is None:
        raise exits.Stop("there is no query: write one SELECT, - for standard input, or --file FILE")
    return sys.stdin.read() if query == "-" else query


def _parameters(given: list[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise exits.Stop(f"--param {text!r} is not NAME=VALUE")
        found[name] = value
    return found


def _json(answer: Table) -> output.Report:
    return {
        "columns": [{"name": n, "type": t} for n, t in zip(answer.columns, answer.types, strict=True)],
        "rows": [list(row) for row in answer.rows],
        "truncated": answer.truncated,
    }


def _cell(value: Value, *, none: str = NONE) -> str:
    match value:
        case None:
            return none
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}"
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case _:
            return str(value)


def _show(answer: Table) -> None:
    numbers = ("Int", "UInt", "Float", "Decimal", "Nullable(Int", "Nullable(UInt", "Nullable(Float")
    columns = [
        f">{name}" if kind.startswith(numbers) else name
        for name, kind in zip(answer.columns, answer.types, strict=True)
    ]
    shown = answer.rows[:SHOWN_ROWS]
    output.show(output.fill(output.table("", *columns), ([_cell(v) for v in row] for row in shown)))
    rest = len(answer.rows) - len(shown)
    more = f"; {rest:,} more are not shown: --csv and --json give all" if rest else ""
    output.say(f"{plural(len(answer.rows), 'row')}{more}.")
