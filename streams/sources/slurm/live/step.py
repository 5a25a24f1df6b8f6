"""The step: from what was told and one poll to what is to be told, and what was told then. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, TypeVar

from ledger.events import ClusterEvent, MaintenancePlanned
from ledger.events.faults import told_of
from streams.sources.config import SourceConfig
from streams.sources.reading import Place, Refused, Unreadable
from streams.sources.slurm.gres import GresWrong
from streams.sources.slurm.live import nodes as node_pass
from streams.sources.slurm.live import windows as window_pass
from streams.sources.slurm.live.cursor import Attempt, Cursor, Node
from streams.sources.slurm.live.jobs import Telling, base_of, in_time
from streams.sources.slurm.live.poll import Poll
from streams.sources.slurm.nodes import NodePiece, NodeRecord
from streams.sources.slurm.reader import Piece
from streams.sources.slurm.record import JobRecord
from streams.sources.slurm.reservations import Reserved

OVERLAP_S: Final = 900
"""Accounting is asked again so far back: ends reach it late when its database was away."""
_JOB: Final = re.compile(rb'"job_id"\s*:\s*(\d+)|JobId=(\d+)|NodeName=(\S+)|"name"\s*:\s*"([^"]*)"')
R = TypeVar("R", JobRecord, NodeRecord)


@dataclass(slots=True)
class Step:
    """`events` in the order of their time; `letters` are rows nothing could be made of, each once while it comes;
    `lost` are runs of which neither controller nor accounting tells an end.
    """

    cursor: Cursor
    events: list[ClusterEvent] = field(default_factory=list)
    letters: list[Unreadable] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def begin(at_s: int) -> Cursor:
    """The cursor of a collector that begins now."""
    return Cursor(since_s=at_s)


def window_s(cursor: Cursor) -> int:
    """From when on accounting is to be asked for what ended."""
    return max(cursor.since_s, cursor.accounted_s - OVERLAP_S)


def to_ask(cursor: Cursor, poll: Poll, config: SourceConfig) -> list[str]:
    """The jobs to ask accounting about: told of, not over, and neither the controller nor accounting's window has them.

    Slurm's windows leave out jobs that were held while they ran; asked by number it tells of them.
    """
    if poll.jobs is None:
        return []
    telling = _telling(cursor, poll, config)
    _each(poll.jobs, JobRecord, telling.named, [])
    _each(poll.ended or (), JobRecord, telling.named, [])
    open_ = (key for key, known in cursor.attempts.items() if known.phase != "ended" and key not in telling.seen)
    return sorted({base_of(key) for key in open_})


def step(cursor: Cursor, poll: Poll, config: SourceConfig) -> Step:
    """What the poll says that was not told yet. A question without an answer changes nothing."""
    refused: list[Unreadable] = []
    nodes, events = _nodes(cursor, poll, config, refused)
    windows, planned = _windows(cursor, poll, config)
    telling = _telling(cursor, poll, config)
    if poll.jobs is not None:
        _controller(telling, poll.jobs, refused)
    for rows in (poll.ended, poll.asked):
        if rows is not None:
            _accounting(telling, rows, refused)
    lost = telling.unseen(both_answered=poll.jobs is not None and poll.asked is not None)
    after = replace(
        cursor,
        accounted_s=cursor.accounted_s if poll.ended is None or poll.jobs is None else poll.at_s,
        slurm=telling.slurm,
        jobs_s=cursor.jobs_s if poll.jobs is None else poll.at_s,
        nodes_s=cursor.nodes_s if poll.nodes is None else poll.at_s,
        nodes=nodes,
        windows=windows,
    )
    digests = {_digest(row): row for row in refused}
    silent = poll.jobs is None or poll.ended is None or poll.nodes is None
    still = [*cursor.refused, *digests] if silent else list(digests)
    after = replace(after, attempts=_kept(telling, after, poll), refused=tuple(dict.fromkeys(still)))
    letters = [row for digest, row in digests.items() if digest not in cursor.refused]
    return Step(after, [*events, *planned, *in_time(telling.events)], letters, lost)


def _telling(cursor: Cursor, poll: Poll, config: SourceConfig) -> Telling:
    return Telling(config, dict(cursor.attempts), cursor.since_s, cursor.jobs_s, poll.at_s, cursor.slurm)


def _controller(telling: Telling, pieces: Sequence[Piece], refused: list[Unreadable]) -> None:
    _each(pieces, JobRecord, telling.controller, refused)


def _accounting(telling: Telling, pieces: Sequence[Piece], refused: list[Unreadable]) -> None:
    _each(pieces, JobRecord, telling.accounting, refused)


def _each(
    pieces: Iterable[tuple[object, Place, bytes]],
    kind: type[R],
    take: Callable[[R], object],
    refused: list[Unreadable],
) -> None:
    """Take every record; what cannot be taken, or is none, is refused with its bytes."""
    for found, place, raw in pieces:
        try:
            if isinstance(found, kind):
                take(found)
            elif isinstance(found, Refused):
                raise found
            elif isinstance(found, Unreadable):
                refused.append(found)
        except Refused as why:
            refused.append(Unreadable(why.reason, why.sentence, raw, place))
        except GresWrong as wrong:
            refused.append(Unreadable("gpu_count_not_understood", f"{wrong}: correct it in Slurm", raw, place))
        except ValueError as wrong:
            refused.append(
                Unreadable("values_not_accepted", f"a value does not fit an event: {told_of(wrong)}", raw, place)
            )


def _nodes(
    cursor: Cursor, poll: Poll, config: SourceConfig, refused: list[Unreadable]
) -> tuple[dict[str, Node], list[ClusterEvent]]:
    now: dict[str, tuple[Node | None, int]] = {}

    def take(record: NodeRecord) -> None:
        for name, node in node_pass.stated(record, config).items():
            now.setdefault(name, (node, record.reason_s))

    pieces: Sequence[NodePiece] = poll.nodes or ()
    _each(pieces, NodeRecord, take, refused)
    if not now:  # no answer, an empty one, or none that could be read: no node is gone by that
        return dict(cursor.nodes), []
    return node_pass.changes(cursor.nodes, now, config, cursor.nodes_s, poll.at_s)


def _windows(cursor: Cursor, poll: Poll, config: SourceConfig) -> tuple[dict[str, Reserved], list[MaintenancePlanned]]:
    if poll.windows is None:
        return dict(cursor.windows), []
    return window_pass.changes(cursor.windows, poll.windows, config, poll.at_s)


def _kept(telling: Telling, cursor: Cursor, poll: Poll) -> dict[str, Attempt]:
    """The attempts to remember: those not over, and those that may still be named."""
    since_s = window_s(cursor)
    return {
        key: known
        for key, known in telling.attempts.items()
        if known.phase != "ended" or poll.jobs is None or key in telling.seen or known.end_s >= since_s
    }


def _digest(row: Unreadable) -> str:
    """The same while one job or node is refused for one reason, whatever else its row says."""
    match = _JOB.search(row.raw)
    about = match[0] if match else row.raw.partition(b"|")[0][:200]
    return blake2b(row.reason.encode() + b"\0" + about, digest_size=8).hexdigest()
