"""`scontrol show job` and `show node`, in blocks or one record per line, with details by node where `-d` gave them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Final

from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Reading, Refused, Skipped, Unreadable
from streams.sources.slurm.asked import held, or_unsaid, per_socket_only, request
from streams.sources.slurm.exits import from_text
from streams.sources.slurm.gres import Gpus, gpus
from streams.sources.slurm.jobids import tasks_of
from streams.sources.slurm.nodelist import expand
from streams.sources.slurm.nodes import NodePiece, NodeRecord
from streams.sources.slurm.nodes import readings as node_readings
from streams.sources.slurm.reader import Piece, records_to_readings, understood
from streams.sources.slurm.record import JobId, JobRecord, suspensions
from streams.sources.slurm.scontrol_text import Block, blocks, fields_of
from streams.sources.slurm.states import state_of
from streams.sources.times import duration_s, instant_s, zone

_OWNER: Final = re.compile(r"UserId=\S+\s+GroupId=")
_DETAIL: Final = re.compile(r"\bNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)")
_STAMP: Final = re.compile(r"\[[^@\]]*@([0-9T:-]+)\]")


def read_jobs(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every physical line of `show job`: a job's first line has its reading, the rest continue it."""
    tz = zone(config.timezone)
    yield from records_to_readings(list(_job_pieces(data, tz)), config, None)


def _job_pieces(data: bytes, tz: tzinfo) -> Iterator[Piece]:
    for block in blocks(data):
        match block:
            case Block(kind="JobId"):
                whole = _whole(block, "JobState")
                found = understood(lambda value: _job(_job_fields(str(value)), str(value), tz), block.text)
                yield (found if whole is None else whole), block.place, block.raw
                yield from ((Skipped("continuation", p), p, b"") for p in block.continuations)
            case Block():
                yield from _other(block)
            case _:
                yield block, block.place, b""


def read_nodes(data: bytes, config: SourceConfig) -> Iterator[Reading]:
    """A reading for every physical line of `show node`."""
    yield from node_readings(node_pieces(data, zone(config.timezone)), config, None)


def node_pieces(data: bytes, tz: tzinfo) -> list[NodePiece]:
    """The record of every node, or why there is none."""
    pieces: list[NodePiece] = []
    for block in blocks(data):
        match block:
            case Block(kind="NodeName"):
                pieces.append((_whole(block, "State") or _node(fields_of(block.text), tz), block.place, block.raw))
                pieces += [(Skipped("continuation", p), p, b"") for p in block.continuations]
            case Block():
                pieces += _other(block)
            case _:
                pieces.append((block, block.place, b""))
    return pieces


def _other(block: Block) -> list[tuple[Skipped | Unreadable, Place, bytes]]:
    """A block of another kind: partitions say nothing of GPU time; jobs among nodes are a mistake."""
    if block.kind == "PartitionName":
        rest = [(Skipped("continuation", p), p, b"") for p in block.continuations]
        return [(Skipped("partition", block.place), block.place, block.raw), *rest]
    sentence = f"a {block.kind} record among others: read `show job` and `show node` each as its own format"
    first = Unreadable("record_of_another_kind", sentence, block.raw, block.place)
    return [(first, block.place, block.raw), *((Skipped("continuation", p), p, b"") for p in block.continuations)]


def _whole(block: Block, needed: str) -> Unreadable | None:
    """The dead letter for a record that is cut short."""
    if f"{needed}=" in block.text:
        return None
    return Unreadable(
        "truncated",
        f"the record has no {needed}: the file was cut short there; fetch it again",
        block.raw,
        block.place,
    )


def _job_fields(text: str) -> Mapping[str, str]:
    """The fields of a job; what a job's name says is not taken for one.

    In blocks the name ends its line. In one line it ends before the last `UserId=` that a `GroupId=` follows.
    """
    first, newline, rest = text.partition("\n")
    before, named, after = first.partition(" JobName=")
    if not named:
        return fields_of(text)
    if newline:
        return fields_of(before + newline + rest)
    owners = list(_OWNER.finditer(after))
    return fields_of(before + " " + (after[owners[-1].start() :] if owners else ""))


def _job(cells: Mapping[str, str], text: str, tz: tzinfo) -> JobRecord:
    def cell(key: str) -> str:
        return cells.get(key, "")

    def at(key: str) -> int | None:
        return instant_s(cell(key), tz)

    state = state_of(cell("JobState"))
    nodes = expand(cell("NodeList"))
    count = _leading_number(cell("NumNodes"))
    asked = request(
        cell("ReqTRES") or cell("TRES"),
        cell("TresPerJob"),
        cell("TresPerNode"),
        len(nodes) or count,
        cell("TresPerTask"),
        _leading_number(cell("NumTasks")),
    )
    allocated = held(or_unsaid(cell("AllocTRES") or (cell("TRES") if nodes else "")), asked)
    details = _details(text)
    per_socket_only(cell("TresPerSocket"), allocated or asked, started=bool(nodes) and not details)
    total_s, since_s = suspensions(
        state.phase, at("StartTime"), at("SuspendTime"), _leading_number(cell("SecsPreSuspend"))
    )
    return JobRecord(
        id=_job_id(cells),
        state=state,
        user=cell("UserId").partition("(")[0],
        account=cell("Account"),
        partition=cell("Partition"),
        qos=cell("QOS"),
        reservation=cell("Reservation"),
        comment=cell("Comment"),
        submit_s=at("SubmitTime"),
        eligible_s=at("EligibleTime"),
        start_s=at("StartTime"),
        end_s=at("EndTime"),
        elapsed_s=duration_s(cell("RunTime")),
        suspended_s=total_s,
        suspended_since_s=since_s,
        nodes=nodes,
        node_count=count,
        allocated=allocated,
        requested=asked,
        per_node=details,
        time_limit_s=duration_s(cell("TimeLimit")),
        exit_code=from_text(cell("ExitCode")),
        held=state.phase == "pending" and cell("Reason").startswith("JobHeld"),
    )


def _job_id(cells: Mapping[str, str]) -> JobId:
    number = cells.get("JobId", "")
    if not number.isdigit():
        raise Refused("no_job_id", f"JobId={number[:40]} is no job id: correct the record")
    if base := cells.get("HetJobId") or cells.get("PackJobId"):
        return JobId(base, offset=cells.get("HetJobOffset") or cells.get("PackJobOffset") or "0")
    if base := cells.get("ArrayJobId"):
        task = cells.get("ArrayTaskId", "")
        return JobId(base, tasks_of(task) if task else ())
    return JobId(number)


def _details(text: str) -> tuple[tuple[str, Gpus], ...]:
    """GPUs by node out of the lines `Nodes=… CPU_IDs=… GRES=…`; equal nodes share one line."""
    found: list[tuple[str, Gpus]] = []
    for names, gres in _DETAIL.findall(text):
        part = gpus(gres)
        if part is not None and part.milli:
            found += [(name, part) for name in expand(names)]
    return tuple(found)


def _node(cells: Mapping[str, str], tz: tzinfo) -> NodeRecord:
    reason = cells.get("Reason", "")
    stamp = _STAMP.search(reason)
    instants = [cells.get(key, "") for key in ("LastBusyTime", "SlurmdStartTime", "BootTime")]
    return NodeRecord(
        names=(cells["NodeName"],),
        words=tuple(cells.get("State", "").split("+")),
        gres=cells.get("Gres", ""),
        tres=cells.get("CfgTRES", ""),
        reason=reason,
        latest_s=max(_instant_or_0(text, tz) for text in [*instants, stamp[1] if stamp else ""]),
        booted_s=_instant_or_0(cells.get("BootTime", ""), tz),
        reason_s=_instant_or_0(stamp[1], tz) if stamp else 0,
    )


def _instant_or_0(text: str, tz: tzinfo) -> int:
    """An instant that only helps to date the list; what cannot be read does not help."""
    try:
        return instant_s(text, tz) or 0
    except ValueError:
        return 0


def _leading_number(text: str) -> int:
    """`1-1` and `4` alike."""
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0
