"""Where commands write: tables for people to standard output, JSON for programs, notes to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from textwrap import wrap
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column, Table
from rich.text import Text

from ledger.units import instant

WIDTH: Final = 100
"""Columns where nobody says how many there are: a file, a pipe, a mail."""

Cell = str | Text
Report = dict[str, object]
"""What `--json` prints: one object, units in its keys."""


def console(*, stderr: bool = False) -> Console:
    """A console on today's standard output (or error): the terminal's width, or 100 columns."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False)


def say(sentence: str = "", *, style: str | None = None) -> None:
    """A line for people."""
    console().print(escape(sentence), style=style, soft_wrap=True)


def tell(sentence: str) -> None:
    """A sentence for people, folded where the page ends."""
    wrapped("", sentence)


def note(sentence: str, *, style: str | None = None) -> None:
    """A line beside the output, on standard error."""
    console(stderr=True).print(escape(sentence), style=style, soft_wrap=True)


def wrapped(head: str, sentence: str) -> None:
    """A sentence that folds under itself, to the right of its head."""
    out = console()
    lines = wrap(sentence, max(20, out.width - len(head)), break_on_hyphens=False, break_long_words=False) or [""]
    for at, line in enumerate(lines):
        out.print(escape((head if at == 0 else " " * len(head)) + line), soft_wrap=True)


def show(table: Table) -> None:
    """A table; in a file or a pipe without the blanks that fill its lines."""
    out = console()
    # A table folds its title to its own width, however wide the page is.
    title, table.title = table.title, None
    if title:
        out.print(title, style="bold", soft_wrap=True, markup=False)
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def table(title: str, *columns: str, caption: str = "") -> Table:
    """A table. In front of a column's name `>` means numbers, flush right; `*` text that is never cut; `~` text cut
    where there is no room; others fold.
    """
    made = Table(
        title=title,
        caption=caption or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        kind, name = (column[0], column[1:]) if column[:1] in set(">*~") else ("", column)
        made.add_column(
            name,
            justify="right" if kind == ">" else "left",
            no_wrap=kind in set(">*"),
            overflow="ellipsis" if kind == "~" else "fold",
        )
    return made


def fill(made: Table, rows: Iterable[Sequence[Cell]]) -> Table:
    """The table with these rows, as they are: no markup is read from data."""
    for row in rows:
        made.add_row(*(_cell(column, cell) for column, cell in zip(made.columns, row, strict=True)))
    return made


def _cell(column: Column, cell: Cell) -> Text:
    text = Text(cell) if isinstance(cell, str) else cell
    if column.overflow == "ellipsis":
        text.no_wrap, text.overflow = True, "ellipsis"
    return text


def styled(text: str, style: str) -> Text:
    """Text in a style."""
    return Text(text, style=style)


def emit(report: Report) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(report, default=_plain, ensure_ascii=False, indent=2) + "\n")


def _plain(value: object) -> object:
    """What JSON has no word for: instants as RFC 3339, decimals as exact text, bytes as text."""
    match value:
        case datetime():
            return iso(value)
        case Decimal():
            return str(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case tuple() | set() | frozenset():
            return list(value)
        case _:
            return str(value)


def iso(at: datetime) -> str:
    """RFC 3339 in UTC, `Z` at the end."""
    return at.isoformat().replace("+00:00", "Z")


def iso_s(second: int | None) -> str | None:
    """RFC 3339 in UTC of an epoch second."""
    return None if second is None else iso(instant(second))


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The speed so far, blank before there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class Bars:
    """Progress of long work: bars on a terminal, silence elsewhere."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def bar(self, what: str, total: int | None) -> Bar:
        """A new bar; without a total it only counts."""
        return Bar(self._progress, what, total)


class Bar:
    """One piece of work."""

    def __init__(self, progress: Progress, what: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(what, total=total)

    def advance(self, by: int) -> None:
        """So many more are done."""
        self._progress.advance(self._task, by)

    def done(self) -> None:
        """All is done, however many they were."""
        task = self._progress.tasks[self._task]
        self._progress.update(self._task, total=task.completed, completed=task.completed)


@contextmanager
def bars() -> Iterator[Bars]:
    """Progress on standard error while the block runs."""
    out = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        Rate(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out, disable=not out.is_terminal) as progress:
        yield Bars(progress)
