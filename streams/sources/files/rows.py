"""A CSV's records by column name, and what each is by the mapping: a job, a node, or a reason why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final

from ledger.events.nodes import NodeObserved, NodeObservedData
from ledger.units import GPU_MILLI, epoch_s
from streams.sources.config import DEFAULT_GPU_TYPE
from streams.sources.files.mapping import FilesMapping, StateMeaning
from streams.sources.files.table import Row, table
from streams.sources.identity import event_id
from streams.sources.reading import Place, Reading, Refused, Skipped, Statement, Unreadable
from streams.sources.terms import Labels
from streams.sources.text import visible
from streams.sources.times import instant_s, number_s, zone

_NODES: Final = re.compile(r"[^\[\]'\"\s,;]+")


@dataclass(frozen=True, slots=True)
class Job:
    """A row as the mapping understands it. Times in epoch seconds."""

    key: str
    user: str
    labels: Labels
    gpus_milli: int
    gpu_type: str | None
    nodes: tuple[str, ...]
    meaning: StateMeaning | None
    submit_s: int | None
    eligible_s: int | None
    start_s: int | None
    end_s: int | None
    suspended_s: int
    time_limit_s: int | None
    exit_code: int | None
    place: Place
    raw: bytes


@dataclass(frozen=True, slots=True)
class Named:
    """A record whose cells are asked for by column name."""

    row: Row
    cells: Mapping[str | None, str]

    def cell(self, column: str | None) -> str:
        """What stands under the column; nothing for a column the mapping leaves out."""
        return self.cells.get(column, "")


def named_rows(data: bytes, mapping: FilesMapping) -> Iterator[Named | Skipped | Unreadable]:
    """Records under their header. Without the columns the mapping speaks of, every record is unreadable."""
    index: dict[str, int] | None = None
    missing: list[str] = []
    for piece in table(data, mapping.delimiter):
        if not isinstance(piece, Row):
            yield piece
        elif index is None:
            index = {name.removeprefix("\ufeff").strip(): at for at, name in enumerate(piece.cells)}
            missing = sorted(mapping.columns.named() - set(index))
            yield _no_columns(piece, missing, index) if missing else Skipped("header", piece.place)
        elif missing:
            yield _no_columns(piece, missing, index)
        elif len(piece.cells) != len(index):
            yield _wrong_width(piece, len(index))
        else:
            yield Named(piece, dict(zip(index, map(str.strip, piece.cells), strict=True)))


def _no_columns(row: Row, missing: list[str], index: Mapping[str, int]) -> Unreadable:
    return Unreadable(
        "columns_missing",
        f"the file has no column {', '.join(missing)}; it has {', '.join(list(index)[:40])}: "
        "correct [columns] in the mapping",
        row.raw,
        row.place,
    )


def _wrong_width(row: Row, width: int) -> Unreadable:
    few = len(row.cells) < width
    return Unreadable(
        "too_few_fields" if few else "too_many_fields",
        f"the row has {len(row.cells)} cells where the header has {width}: "
        + ("the file is cut short there" if few else "quote the cell that holds a comma"),
        row.raw,
        row.place,
    )


def parsed(row: Named | Skipped | Unreadable, mapping: FilesMapping) -> Job | Reading:
    """What the record is by the mapping."""
    if not isinstance(row, Named):
        return row
    try:
        return _node(row, mapping) if mapping.rows == "nodes" else _job(row, mapping)
    except Refused as refused:
        return Unreadable(refused.reason, refused.sentence, row.row.raw, row.row.place)


def _job(row: Named, mapping: FilesMapping) -> Job:
    c, tz = mapping.columns, zone(mapping.timezone)
    user, group = visible(row.cell(c.user)), visible(row.cell(c.group))
    start_s = _time(row, c.start, mapping, tz)
    submit_s = _time(row, c.submit, mapping, tz)
    if c.start is None:
        start_s = submit_s
    return Job(
        key=_key(row, mapping),
        user=user or group or "unknown",
        labels=Labels(group, visible(row.cell(c.partition)), visible(row.cell(c.qos)), user),
        gpus_milli=_gpus_milli(row, mapping, start_s is not None),
        gpu_type=row.cell(c.gpu_type) or mapping.gpu_type,
        nodes=tuple(visible(n) for n in _NODES.findall(row.cell(c.nodes))),
        meaning=_meaning(row, mapping),
        submit_s=submit_s,
        eligible_s=_time(row, c.eligible, mapping, tz),
        start_s=start_s,
        end_s=_end(row, mapping, tz, start_s),
        suspended_s=int(_number(row, c.suspended) or 0),
        time_limit_s=_time_limit_s(row, mapping),
        exit_code=int(code) if (code := _number(row, c.exit_code)) is not None else None,
        place=row.row.place,
        raw=row.row.raw,
    )


def _key(row: Named, mapping: FilesMapping) -> str:
    name = visible(row.cell(mapping.columns.job))
    if not name:
        return f"row-{row.row.number}"
    return name if mapping.job_is_unique else f"{name}#{row.row.number}"


def _number(row: Named, column: str | None) -> Decimal | None:
    text = row.cell(column)
    if not text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation as wrong:
        raise Refused("number_not_understood", f"{column} is {text[:60]!r}, not a number: correct the row") from wrong
    if not number.is_finite():
        raise Refused("number_not_understood", f"{column} is {text[:60]!r}, not a number: correct the row")
    return number


def _time(row: Named, column: str | None, mapping: FilesMapping, tz: tzinfo) -> int | None:
    text = row.cell(column)
    if not text:
        return None
    if mapping.time == "iso":
        try:
            return instant_s(text, tz)
        except ValueError as wrong:
            sentence = f"{column} is {text[:60]!r}, not an instant like 2026-01-31 12:00:00: correct it, or set `time`"
            raise Refused("time_not_understood", sentence) from wrong
    number = _number(row, column)
    seconds = int(number // 1) if number is not None else 0
    if mapping.time == "epoch":
        return number_s(seconds)
    return seconds + epoch_s(mapping.origin or datetime(1970, 1, 1, tzinfo=UTC))


def _end(row: Named, mapping: FilesMapping, tz: tzinfo, start_s: int | None) -> int | None:
    if mapping.columns.duration is None:
        return _time(row, mapping.columns.end, mapping, tz)
    duration = _number(row, mapping.columns.duration)
    return None if duration is None or start_s is None else start_s + int(duration // 1)


def _time_limit_s(row: Named, mapping: FilesMapping) -> int | None:
    minutes = _number(row, mapping.columns.time_limit_min)
    return None if minutes is None or number_s(int(minutes)) is None else int(minutes) * 60


def _gpus_milli(row: Named, mapping: FilesMapping, started: bool) -> int:
    """Size of the job: GPUs × milli per GPU, or the counts of the GPU's TRES ids."""
    c = mapping.columns
    if c.tres is not None:
        held, asked = row.cell(c.tres), row.cell(c.tres_requested)
        return _tres_milli(held if started else asked or held, mapping)
    gpus = _number(row, c.gpus) or Decimal(0)
    each = _number(row, c.milli_per_gpu)
    milli = gpus * (GPU_MILLI if each is None else each)
    if milli != milli.to_integral_value() or milli < 0:
        raise Refused("gpu_count_not_understood", f"{milli} milli-GPUs is no whole number of them: correct the row")
    return int(milli)


def _tres_milli(text: str, mapping: FilesMapping) -> int:
    total = 0
    for part in filter(None, text.split(",")):
        name, _, count = part.partition("=")
        if name in mapping.gpu_tres:
            if not count.isdigit():
                raise Refused("gpu_count_not_understood", f"{part!r} does not end in a count: correct the row")
            total += int(count) * GPU_MILLI
    return total


def _meaning(row: Named, mapping: FilesMapping) -> StateMeaning | None:
    if mapping.columns.state is None:
        return None
    text = row.cell(mapping.columns.state)
    if text not in mapping.states:
        known = ", ".join(mapping.states)
        raise Refused("unknown_state", f"state {text[:60]!r} has no meaning in [states] ({known}): add it there")
    return mapping.states[text]


def _node(row: Named, mapping: FilesMapping) -> Reading:
    c = mapping.columns
    gpus = _number(row, c.gpus) or Decimal(0)
    if gpus <= 0:
        return Skipped("node_without_gpus", row.row.place)
    at = mapping.nodes_at or mapping.opens_at or mapping.snapshot_at
    if at is None:
        raise Refused("no_instant", "a node list has no time of its own: set opens_at in the mapping")
    name = visible(row.cell(c.node))
    data = NodeObservedData(
        cluster=mapping.cluster,
        node=name,
        gpu_type=visible(row.cell(c.gpu_type)) or mapping.gpu_type or DEFAULT_GPU_TYPE,
        gpus_milli=int(gpus * GPU_MILLI),
        state="available",
    )
    event = NodeObserved(id=event_id("node", name, at, data), source=mapping.source_name, time=at, data=data)
    return Statement("node", (event,), row.row.place)
