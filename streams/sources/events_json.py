"""Tenure's own events, as JSON lines or JSON arrays, one event or a batch each."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import ValidationError

from ledger.events import EVENT
from ledger.events.faults import ENDS_BEFORE, ends_before_start, in_words
from streams.sources.reading import Place, Reading, Skipped, Statement, Unreadable
from streams.sources.text import Line, lines


def read(data: bytes) -> Iterator[Reading]:
    """A reading for every event, blank line and line that is none. A batch gives one for each of its events."""
    whole = _whole_array(data)
    if whole is not None:
        yield from _batch(whole, data, Place(line=1))
        return
    for line in lines(data):
        if line.raw.strip():
            yield from _line(line)
        else:
            yield Skipped("blank", line.place)


def _whole_array(data: bytes) -> list[object] | None:
    """The file as one array over several lines; None where each line stands for itself."""
    head = data.lstrip()[:2]
    if not head.startswith(b"[") or (head == b"[{" and b"\n" not in data.strip()):
        return None
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def _line(line: Line) -> Iterator[Reading]:
    try:
        value = json.loads(line.raw.decode("utf-8"))
    except UnicodeDecodeError as wrong:
        yield Unreadable(
            "not_utf8",
            f"byte {wrong.start} of the line is not UTF-8, and JSON is: write the file as UTF-8",
            line.raw,
            line.place,
        )
    except ValueError as wrong:
        yield _broken(line, wrong)
    else:
        if isinstance(value, list):
            yield from _batch(value, line.raw, line.place)
        else:
            yield _event(value, line.raw, line.place)


def _broken(line: Line, wrong: ValueError) -> Unreadable:
    if not line.complete:
        return Unreadable(
            "truncated",
            f"the file ends in the middle of an event ({wrong}): send it again, repeats are recognised",
            line.raw,
            line.place,
        )
    return Unreadable("not_json", f"the line is not JSON ({wrong}): correct it and send it again", line.raw, line.place)


def _batch(values: list[object], raw: bytes, place: Place) -> Iterator[Reading]:
    for index, value in enumerate(values):
        yield _event(value, raw, Place(place.line, place.offset, index))


def _event(value: object, raw: bytes, place: Place) -> Reading:
    try:
        event = EVENT.validate_python(value)
    except ValidationError as wrong:
        if ends_before_start(wrong.errors(include_url=False)):
            return Unreadable("end_before_start", ENDS_BEFORE, raw, place)
        return Unreadable("not_an_event", _sentence(wrong, value), raw, place)
    return Statement("event", (event,), place)


def _sentence(wrong: ValidationError, value: object) -> str:
    """What is wrong with the first few fields."""
    if not isinstance(value, dict) or "type" not in value:
        return "an event is an object with specversion, id, source, type, time and data: see docs/events.md"
    said = [
        f"{'.'.join(str(part) for part in error['loc'][1:]) or 'type'}: {in_words(error)}"
        for error in wrong.errors(include_url=False)[:3]
    ]
    return f"{str(value['type'])[:80]} is not accepted: " + "; ".join(said)
