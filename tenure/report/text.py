"""The pack for people: a header and a table per section, GPU-hours and percent, times in the zone asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, assert_never

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ledger.units import instant
from tenure.report import words
from tenure.report.pack import MEANINGS, Header, Pack
from tenure.report.period import shown
from tenure.report.tables import Cell, Column, Part, Section
from tenure.report.values import Question

RIGHT: Final = frozenset({"count", "milli", "gpu_ms", "seconds", "part", "ratio"})
BELOW: Final = (1, 0, 0, 0)
"""A line between one thing and the next."""

Row = dict[str, Cell]


def render(pack: Pack) -> RenderableType:
    """The whole pack."""
    question = pack.header.question
    return Group(_header(pack.header), rendered(question, pack.header.pools, pack.sections))


def rendered(question: Question, pools: Sequence[str], found: Iterable[Section]) -> RenderableType:
    """Some sections by themselves."""
    return Group(*(_section(question, pools, one) for one in found if one.rows or one.empty))


def plain(pack: Pack, *, width: int = 100, sections: Iterable[str] = ()) -> str:
    """The pack, or the sections named, as it is printed without colours on so many columns."""
    console = Console(width=width, color_system=None, force_terminal=False, highlight=False, record=True, quiet=True)
    names = set(sections)
    question, pools = pack.header.question, pack.header.pools
    chosen = [_section(question, pools, s) for s in pack.sections if s.name in names] if names else [render(pack)]
    with console.capture() as captured:
        console.quiet = False
        for part in chosen:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


# ---------------------------------------------------------------- the header


def _header(header: Header) -> RenderableType:
    title = Text(f"Budget review of {header.subject} on {header.question.cluster}", style="bold")
    grid = Table.grid(padding=(0, 2))
    for name, value in _facts(header):
        grid.add_row(Text(name, style="dim"), Text(value))
    meanings = Table.grid(padding=(0, 2))
    for name, meaning in MEANINGS:
        meanings.add_row(Text(name, style="bold"), Text(meaning))
    return Group(title, Padding(grid, BELOW), Padding(meanings, BELOW))


def _facts(header: Header) -> Iterator[tuple[str, str]]:
    question = header.question
    zone = question.zone
    yield "pool", ", ".join(header.pools) or "none"
    yield "period", f"{_moment(question, question.from_s)} to {_moment(question, question.asked_until_s)}, {zone.key}"
    yield "watermark", f"closed until {shown(question.until_s, zone)}: {_hours(header)}"
    yield "as of", f"{shown(question.as_of_s, zone)}: ρ {header.ranking}, and what contracts bind"
    last = ", the last record" if question.known_at_s is None else ""
    yield "known at", f"{shown(header.known_at_s, zone)}{last}"


def _hours(header: Header) -> str:
    if header.closed_hours == header.asked_hours:
        return f"all {header.asked_hours:,} hours of the period"
    return f"{header.closed_hours:,} of the period's {header.asked_hours:,} hours"


# ---------------------------------------------------------------- sections


def _section(question: Question, pools: Sequence[str], found: Section) -> RenderableType:
    title = Text(found.title, style="bold")
    if not found.rows:
        return Padding(Group(title, Text(found.empty)), BELOW)
    notes = [Text(note, style="dim") for note in found.notes]
    return Padding(Group(title, *notes, *_tables(question, pools, found)), BELOW)


def _tables(question: Question, pools: Sequence[str], found: Section) -> Iterator[RenderableType]:
    stories = STORIES.get(found.name)
    if stories is not None:
        yield Padding(_told(question, found, stories), BELOW)
    elif found.apart and len(pools) > 1:
        for pool in pools:
            rows = [row for row in found.rows if row[0] == pool]
            if rows:
                yield Padding(_table(question, found.columns[1:], [row[1:] for row in rows], pool), BELOW)
    else:
        with_pool = len(pools) > 1
        kept = [n for n, column in enumerate(found.columns) if with_pool or column.kind != "pool"]
        columns = [found.columns[n] for n in kept]
        yield Padding(_table(question, columns, [tuple(row[n] for n in kept) for row in found.rows], ""), BELOW)


def _table(question: Question, columns: Sequence[Column], rows: Iterable[tuple[Cell, ...]], title: str) -> Table:
    places = [n for n, column in enumerate(columns) if column.audience != "programs"]
    table = _bare(title)
    for n in places:
        right = columns[n].kind in RIGHT
        fixed = right or columns[n].kind == "instant"
        table.add_column(columns[n].title, justify="right" if right else "left", no_wrap=fixed, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(question, columns[n], row[n])) for n in places))
    return table


def _bare(title: str) -> Table:
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )


def cell(question: Question, column: Column, value: Cell) -> str:
    """A cell as people read it."""
    if value is None:
        return words.NONE
    match column.kind:
        case "text" | "pool":
            return str(value)
        case "part":
            assert isinstance(value, Part), column.key
            return words.percent(value)
        case "ratio":
            assert isinstance(value, Part), column.key
            return words.ratio(value)
        case "count" | "milli" | "gpu_ms" | "seconds" | "instant":
            assert isinstance(value, int), column.key
            return _number(question, column, value)
        case _:
            assert_never(column.kind)


def _number(question: Question, column: Column, value: int) -> str:
    match column.kind:
        case "gpu_ms":
            return words.gpu_hours(value)
        case "milli":
            return words.gpus(value)
        case "seconds":
            return words.duration(value)
        case "instant":
            return _moment(question, value)
        case _:
            return f"{value:,}"


def _moment(question: Question, at_s: int) -> str:
    return f"{instant(at_s).astimezone(question.zone):%Y-%m-%d %H:%M}"


# ---------------------------------------------------------------- what people said, told in lines


def _told(question: Question, found: Section, story: Callable[[Question, Row], tuple[str, str, list[str]]]) -> Table:
    """When, what, and lines on it: sentences are too long for columns of their own."""
    table = _bare("")
    table.add_column("when", no_wrap=True)
    table.add_column("what", overflow="fold", max_width=18)
    table.add_column("")
    for row in found.records():
        when, what, lines = story(question, row)
        table.add_row(Text(when), Text(what), Text("\n".join(filter(None, lines))))
    return table


def _request_story(question: Question, row: Row) -> tuple[str, str, list[str]]:
    asked, answer = _moment(question, _int(row["asked_at"])), str(row["answer"])
    lines = [
        f"{row['account']} ({row['pool']} pool) to {row['asked_percent']} %, asks {row['asked_by']}:",
        f"  {row['plea']}",
    ]
    if row["decided_at"] is None:
        return asked, f"{row['request']} open", lines
    given = f" at {row['given_percent']} %" if row["given_percent"] is not None else ""
    lines += [
        f"{answer}{given} on {_moment(question, _int(row['decided_at']))} by {row['decided_by']}:",
        f"  {row['grounds']}",
    ]
    return asked, f"{row['request']} {answer}", lines


def _change_story(question: Question, row: Row) -> tuple[str, str, list[str]]:
    pool = f" ({row['pool']})" if row["pool"] else ""
    amount = f", {words.gpu_hours(_int(row['amount_gpu_ms']))} GPU-hours" if row["amount_gpu_ms"] is not None else ""
    since, until = row["in_force_from"], row["in_force_until"]
    force = f"in force from {_moment(question, _int(since))}" if since is not None else ""
    if until is not None:
        force = f"accrues from {_moment(question, _int(since))} to {_moment(question, _int(until))}"
    who = f"{row['author']}: {row['reason']}" if row["reason"] else str(row["author"])
    return (
        _moment(question, _int(row["at"])),
        str(row["kind"]),
        [f"{row['account']}{pool}: {row['change']}{amount}", force, who],
    )


def _int(value: Cell) -> int:
    assert isinstance(value, int), "an instant or an amount"
    return value


STORIES: Final = {"requests": _request_story, "changes": _change_story}
