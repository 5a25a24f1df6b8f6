"""`sacct -P` and `squeue -o` text: any field order, any delimiter, with or without header, records over several lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo

from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Reading, Refused, Skipped, Unreadable
from streams.sources.slurm.columns import PRESETS, Layout, header, layout
from streams.sources.slurm.gres import Gpus, GresWrong, gpus
from streams.sources.slurm.jobids import job_id
from streams.sources.slurm.nodelist import ListWrong, expand
from streams.sources.slurm.record import JobId, JobRecord
from streams.sources.slurm.statements import Reader, as_of
from streams.sources.slurm.states import UnknownState, state_of
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


Piece = Row | Skipped | Unreadable


def read(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every physical line of the text."""
    tz = zone(config.timezone)
    read_ahead: list[JobRecord | Skipped | Unreadable] = []
    places: list[tuple[Place, bytes]] = []
    for piece in rows(data, config):
        read_ahead.append(_record_or_why_not(piece, tz) if isinstance(piece, Row) else piece)
        places.append((piece.place, piece.raw if isinstance(piece, Row) else b""))
    records = [r for r in read_ahead if isinstance(r, JobRecord)]
    reader = Reader(config, as_of(config, None, records))
    for found, (place, raw) in zip(read_ahead, places, strict=True):
        yield readable(reader, found, place, raw) if isinstance(found, JobRecord) else found


def readable(reader: Reader, record: JobRecord, place: Place, raw: bytes) -> Reading:
    """The record's reading; a refusal becomes a dead letter with its raw bytes."""
    try:
        return reader.reading(record, place)
    except Refused as refused:
        return Unreadable(refused.reason, refused.sentence, raw, place)
    except ValueError as wrong:
        return Unreadable("values_not_accepted", f"a value does not fit an event: {wrong}", raw, place)


def _record_or_why_not(row: Row, tz: tzinfo) -> JobRecord | Skipped | Unreadable:
    try:
        return record(row, tz)
    except Refused as refused:
        return Unreadable(refused.reason, refused.sentence, row.raw, row.place)


# ---------------------------------------------------------------- lines to rows


def rows(data: bytes, config: SourceConfig) -> Iterator[Piece]:
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


def _continued(pending: list[Line], line: Line, text: str, current: Layout) -> list[Piece] | None:
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


def _given_up(pending: list[Line], current: Layout) -> list[Piece]:
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
    values, index = row.values, row.layout.index

    def cell(name: str) -> str:
        at = index.get(name)
        return values[at].strip() if at is not None else ""

    found = job_id(cell("jobid") or cell("jobidraw"))
    if found is None:
        raise Refused("no_job_id", f"{cell('jobid')[:80]!r} is no job id: ask sacct for JobID")
    if found.step is not None:
        return JobRecord(found, state_of("PENDING"))
    if row.layout.missing:
        raise Refused(
            "columns_missing",
            f"the file has no column {' and no column '.join(row.layout.missing)}: ask sacct for them, as in "
            "--format=JobID,User,Account,State,Submit,Start,End,ElapsedRaw,AllocTRES,ReqTRES,NodeList",
        )
    try:
        return _job(found, cell, "nodelist" in index, tz)
    except UnknownState as wrong:
        raise Refused("unknown_state", f"{wrong}: correct the row, or ask for support of this Slurm version") from wrong
    except GresWrong as wrong:
        raise Refused("gpu_count_not_understood", f"{wrong}: correct the row") from wrong
    except ListWrong as wrong:
        raise Refused("node_list_not_understood", f"{wrong}: correct the row") from wrong
    except ValueError as wrong:
        raise Refused(
            "time_not_understood",
            f"{wrong}: export with SLURM_TIME_FORMAT unset (2026-01-31T12:00:00) or set to %s",
        ) from wrong


Cell = Callable[[str], str]


def _job(found: JobId, cell: Cell, nodes_known: bool, tz: tzinfo) -> JobRecord:
    state_text = cell("state") or cell("st")
    allocated, requested = gpus_or_unsaid(cell("alloctres")), gpus_or_unsaid(cell("reqtres"))
    nodes = expand(cell("nodelist"))
    count = _count(cell("nnodes")) or _count(cell("allocnodes")) or _count(cell("reqnodes"))
    gres = _per_node_request(cell("reqgres") or cell("tres_per_node"), len(nodes) or count)
    if gres is not None and not (allocated and allocated.milli):
        allocated, requested = None, gres
    return JobRecord(
        id=found,
        state=state_of(state_text),
        cluster=cell("cluster") or None,
        sluid=cell("sluid") or None,
        user=cell("user") or cell("uid"),
        account=cell("account"),
        partition=cell("partition"),
        qos=cell("qos"),
        reservation=cell("reservation"),
        comment=cell("comment"),
        submit_s=instant_s(cell("submit"), tz),
        eligible_s=instant_s(cell("eligible"), tz),
        start_s=instant_s(cell("start"), tz),
        end_s=instant_s(cell("end"), tz),
        elapsed_s=_elapsed_s(cell("elapsedraw"), cell("elapsed")),
        suspended_s=duration_s(cell("suspended")) or 0,
        nodes=nodes,
        nodes_known=nodes_known,
        node_count=count,
        allocated=allocated,
        requested=requested,
        time_limit_s=_time_limit_s(cell("timelimitraw"), cell("timelimit")),
        exit_code=_exit_code(cell("exitcode")),
    )


def gpus_or_unsaid(tres: str) -> Gpus | None:
    """The GPUs of a TRES string; none at all for one that lists other things only; None for an empty one."""
    return gpus(tres) or (Gpus(0) if tres not in {"", "(null)"} else None)


def _per_node_request(text: str, nodes: int) -> Gpus | None:
    """`PER_NODE:gpu:8` of old releases and squeue's `gres/gpu:8`, times the nodes. None where it names no GPU."""
    each = gpus(text.removeprefix("PER_NODE:"))
    return None if each is None or not each.milli else replace(each, milli=each.milli * max(1, nodes), indices=None)


def _elapsed_s(raw: str, clock: str) -> int | None:
    return int(raw) if raw.isdigit() else duration_s(clock)


def _time_limit_s(minutes: str, clock: str) -> int | None:
    return int(minutes) * 60 if minutes.isdigit() else duration_s(clock)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _exit_code(text: str) -> int | None:
    """`code:signal`; a signal counts 128 and its number, as a shell reports it."""
    code, _, signal = text.partition(":")
    if not code.isdigit():
        return None
    return 128 + int(signal) if signal.isdigit() and int(signal) else int(code)
