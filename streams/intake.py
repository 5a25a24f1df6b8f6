"""From the bytes of one record to an event, or to the named reason it cannot be one. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from pydantic import ValidationError

from ledger.archive import ArchivedEvent, DeadLetter
from ledger.checkpoint import Partition
from ledger.events import EVENT, ClusterEvent, DirectoryEvent, GpuSampled
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.events.faults import ENDS_BEFORE, ends_before_start, in_words
from ledger.outcomes import Refused
from ledger.units import epoch_us
from streams.bounds import out_of_bounds

AnyEvent = ClusterEvent | DirectoryEvent | GpuSampled

SHOWN_ERRORS = 3
"""As many faults of an event are told; mending those usually mends the rest."""


class Record(NamedTuple):
    """One record of the log, with what it says or why it says nothing."""

    archived: ArchivedEvent
    event: AnyEvent | Refused

    def filed(self) -> tuple[str, str, str, str, int | None]:
        """(cluster, source, id, type, occurred in microseconds) as the bytes say."""
        return columns(self.event)


def read(raw: bytes) -> AnyEvent | Refused:
    """The event in the bytes, or the reason there is none."""
    try:
        event = EVENT.validate_json(raw)
    except ValidationError as error:
        return _reason(raw, error)
    return out_of_bounds(event) or event


def _reason(raw: bytes, error: ValidationError) -> Refused:
    try:
        text = raw.decode()
    except UnicodeDecodeError as fault:
        return Refused(
            "not_utf8",
            f"byte {fault.start} is not UTF-8 ({raw[fault.start : fault.start + 1]!r}); write the event as UTF-8",
        )
    try:
        json.loads(text)
    except json.JSONDecodeError as fault:
        return Refused(
            "not_json",
            f"the text is not JSON: {fault.msg} at character {fault.pos}; was the record cut off or edited by hand?",
        )
    except (RecursionError, ValueError):
        return Refused(
            "not_json",
            "the text is no JSON that can be read: it is nested too deep, or a number in it is too long; "
            "look at what its source has written",
        )
    faults = error.errors(include_url=False)
    if ends_before_start(faults):
        return Refused("end_before_start", ENDS_BEFORE)
    told = "; ".join(_fault(f["loc"], in_words(f)) for f in faults[:SHOWN_ERRORS])
    more = f"; and {len(faults) - SHOWN_ERRORS} more" if len(faults) > SHOWN_ERRORS else ""
    return Refused("not_an_event", f"it is JSON, but no event: {told}{more}; docs/events.md has every field")


def _fault(place: tuple[int | str, ...], message: str) -> str:
    """One of pydantic's errors in words; the union's tag in the path is left out."""
    path = ".".join(str(p) for p in place if not str(p).startswith("tenure."))
    return f"{path}: {message}" if path else message


def cluster_of(event: AnyEvent) -> str:
    """The cluster whose book the event belongs to; '' for none."""
    match event:
        case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested():
            return ""
        case _:
            return event.data.cluster


def record(raw: bytes, partition: Partition, offset: int, now_us: int, index: int = 0) -> Record:
    """The record the bytes make at that place of the log.

    A recorded time in the event holds, unless it lies after `now_us`: nobody records ahead of time.
    """
    event = read(raw)
    told = None if isinstance(event, Refused) else event.recordedtime
    recorded_us = now_us if told is None else min(now_us, epoch_us(told))
    topic, number = partition
    return Record(ArchivedEvent(topic, number, offset, index, *columns(event), recorded_us, raw), event)


def columns(event: AnyEvent | Refused) -> tuple[str, str, str, str, int | None]:
    """(cluster, source, id, type, occurred in microseconds) under which a record is filed."""
    if isinstance(event, Refused):
        return "", "", "", "", None
    return cluster_of(event), event.source, event.id, event.type, epoch_us(event.time)


def from_archive(archived: ArchivedEvent) -> Record:
    """The record as it was first read."""
    return Record(archived, read(archived.raw))


def dead_letter(archived: ArchivedEvent, refused: Refused) -> DeadLetter:
    """Where a record goes that could not be taken, with its bytes and the reason."""
    return DeadLetter(
        archived.topic,
        archived.partition,
        archived.offset,
        archived.index,
        archived.cluster,
        refused.name,
        refused.sentence,
        archived.raw,
        archived.recorded_us,
        archived.source,
        archived.event_id,
    )
