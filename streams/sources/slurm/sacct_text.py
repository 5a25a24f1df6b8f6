"""`sacct -P` and `squeue -o` text: any field order and delimiter, with or without header, over several lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo

from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Reading, Refused, Skipped, Unreadable
from streams.sources.slurm.asked import held, or_unsaid, request
from streams.sources.slurm.columns import PRESETS, Cells, Layout, header, layout
from streams.sources.slurm.exits import from_text
from streams.sources.slurm.jobids import job_id
from streams.sources.slurm.nodelist import expand
from streams.sources.slurm.reader import Piece, records_to_readings, understood
from streams.sources.slurm.record import JobId, JobRecord, end_by_elapsed, since_elapsed
from streams.sources.slurm.states import state_of
from streams.sources.text import Line, decoded, lines
from streams.sources.times import duration_s, instant_s, zone

MAX_CONTINUATION_LINES = 1_000
"""A record that has not come together by then is not one: its first line is cut, and the rest must not follow it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One logical record: its physical lines joined, and the layout in force."""

    values: list[str]
    layout: Layout
    raw: bytes
    place: Place


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every physical line of the text."""
    yield from records_to_readings(pieces(data, config), config, None)


def pieces(data: bytes, config: SourceConfig) -> list[Piece]:
    """The record of every row, or why there is none."""
    tz = zone(config.timezone)
    return [_piece(found, tz) for found in rows(data, config)]


def _piece(found: Row | Skipped | Unreadable, tz: tzinfo) -> Piece:
    if isinstance(found, Row):
        return understood(lambda _: record(found, tz), None), found.place, found.raw
    return found, found.place, b""


# ---------------------------------------------------------------- lines to rows


def rows(data: bytes, config: SourceConfig) -> Iterator[Row | Skipped | Unreadable]:
    """Logical rows, and a `Skipped` for every line that is none: header, blank, prompt, continuation."""
    names = PRESETS[config.fields] if isinstance(config.fields, str) else config.fields
    current = layout(names, config.delimiter) if names else None
    pending: list[Line] = []
    for line in lines(data):
        text = decoded(line.raw)
        if pending and current is not None:
            done = _continued(pending, line, text, current)
            if done is not None:
                yield from done
                pending = []
                continue
            if not _starts_anew(text, current, config.delimiter) and len(pending) < MAX_CONTINUATION_LINES:
                pending.append(line)
                continue
            yield from _given_up(pending, current)
            pending = []
        found = header(text, config.delimiter)
        if found is not None:
            current = found
            yield Skipped("header", line.place)
        elif not text.strip():
            yield Skipped("blank", line.place)
        elif text.startswith("$ "):
            yield Skipped("prompt", line.place)
        elif current is None:
            yield _no_layout(line)
        elif len(values := current.split(text)) == current.width:
            yield Row(values, current, line.raw, line.place)
        elif len(values) > current.width:
            yield _too_many(line, len(values), current)
        else:
            pending = [line]
    if pending and current is not None:
        yield from _given_up(pending, current)


def _continued(pending: list[Line], line: Line, text: str, current: Layout) -> list[Row | Skipped] | None:
    """The record that `line` completes, and its continuation lines; None while it is not complete."""
    if len(current.split(text)) >= current.width:
        return None
    raw = b"\n".join([*(p.raw for p in pending), line.raw])
    values = current.split(decoded(raw))
    if len(values) != current.width:
        return None
    continuations = [Skipped("continuation", p.place) for p in [*pending[1:], line]]
    return [Row(values, current, raw, pending[0].place), *continuations]


def _starts_anew(text: str, current: Layout, delimiter: str) -> bool:
    """Whether the line is a whole record, a header or a prompt: then what is pending will never be complete."""
    whole = len(current.split(text)) >= current.width
    return whole or text.startswith("$ ") or header(text, delimiter) is not None


def _given_up(pending: list[Line], current: Layout) -> list[Unreadable | Skipped]:
    """Lines that never came together to a record, each a dead letter of its own."""
    return [_too_few(line, current) if line.raw.strip() else Skipped("blank", line.place) for line in pending]


def _too_few(line: Line, current: Layout) -> Unreadable:
    count = len(current.split(decoded(line.raw)))
    if not line.complete:
        return Unreadable(
            "truncated",
            f"the file ends in the middle of a record, after {count} of {current.width} fields: fetch it again",
            line.raw,
            line.place,
        )
    return Unreadable(
        "too_few_fields",
        f"the line has {count} fields where its header has {current.width}, and the lines after it do not complete it: "
        "export it again, with a delimiter that no field holds",
        line.raw,
        line.place,
    )


def _too_many(line: Line, count: int, current: Layout) -> Unreadable:
    return Unreadable(
        "too_many_fields",
        f"the line has {count} fields where its header has {current.width}: some field holds {current.delimiter!r}; "
        "export with --delimiter and a text no field holds, or ask for the free text (JobName, Comment) last",
        line.raw,
        line.place,
    )


def _no_layout(line: Line) -> Unreadable:
    return Unreadable(
        "no_header",
        "no header has named the columns: export without -n, or set `fields` to the list given to sacct --format "
        "(`xdmod` and `sonar` name two that are known)",
        line.raw,
        line.place,
    )


# ---------------------------------------------------------------- rows to records


def record(row: Row, tz: tzinfo) -> JobRecord:
    """The record of a row. Raises Refused."""
    cells = row.layout.cells(row.values)
    found = job_id(cells["jobid"] or cells["jobidraw"])
    if found is None:
        raise Refused("no_job_id", f"{cells['jobid'][:80]!r} is no job id: ask sacct for JobID")
    if found.step is not None:
        return JobRecord(found, state_of("PENDING"))
    if row.layout.missing:
        raise Refused(
            "columns_missing",
            f"the file has no column {' and no column '.join(row.layout.missing)}: ask sacct for them, as in "
            "--format=JobID,User,Account,State,Submit,Start,End,ElapsedRaw,AllocTRES,ReqTRES,NodeList",
        )
    return _job(found, cells, tz)


def _job(found: JobId, cells: Cells, tz: tzinfo) -> JobRecord:
    nodes = expand(cells["nodelist"])
    count = _count(cells["nnodes"]) or _count(cells["allocnodes"]) or _count(cells["reqnodes"])
    per_node = cells["reqgres"] or cells["tres_per_node"]
    requested = request(cells["reqtres"], "", per_node, len(nodes) or count, "", 1)
    state = state_of(cells["state"] or cells["st"])
    start_s, elapsed_s = instant_s(cells["start"], tz), _elapsed_s(cells["elapsedraw"], cells["elapsed"])
    suspended_s = duration_s(cells["suspended"]) or 0
    end_s = instant_s(cells["end"], tz)
    if tz is not UTC and elapsed_s is not None and "suspended" in cells:
        end_s = end_by_elapsed(start_s, end_s, elapsed_s + suspended_s)
    return JobRecord(
        id=found,
        state=state,
        number=cells["jobidraw"] if cells["jobidraw"].isdigit() else "",
        cluster=cells["cluster"] or None,
        sluid=cells["sluid"] or None,
        user=cells["user"] or cells["uid"],
        account=cells["account"],
        partition=cells["partition"],
        qos=cells["qos"],
        reservation=cells["reservation"],
        comment=cells["comment"],
        submit_s=instant_s(cells["submit"], tz),
        eligible_s=instant_s(cells["eligible"], tz),
        start_s=start_s,
        end_s=end_s,
        elapsed_s=elapsed_s,
        suspended_s=suspended_s,
        suspended_since_s=since_elapsed(state.phase, start_s, elapsed_s),
        nodes=nodes,
        nodes_known="nodelist" in cells,
        node_count=count,
        allocated=held(or_unsaid(cells["alloctres"]), requested),
        requested=requested,
        time_limit_s=_time_limit_s(cells["timelimitraw"], cells["timelimit"]),
        exit_code=from_text(cells["exitcode"]),
    )


def _elapsed_s(raw: str, clock: str) -> int | None:
    return int(raw) if raw.isdigit() else duration_s(clock)


def _time_limit_s(minutes: str, clock: str) -> int | None:
    return int(minutes) * 60 if minutes.isdigit() else duration_s(clock)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0
