"""Several events in one record of the log: a JSON array, and its elements byte for byte. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

BLANKS: Final = " \t\r\n"
"""What JSON calls white space."""

_DECODER: Final = json.JSONDecoder()


def join(events: Iterable[bytes]) -> bytes:
    """The record that holds these events."""
    return b"[" + b",".join(events) + b"]"


def split(value: bytes) -> list[bytes]:
    """The events of a record, each as it was written; the record itself where it is no whole JSON array.

    What cannot be read is thereby one dead letter with all its bytes, and so is an array without events: every record
    has its place in the log.
    """
    if not value.lstrip().startswith(b"["):
        return [value]
    try:
        return [element.encode() for element in _elements(value.decode().strip(BLANKS))] or [value]
    except (ValueError, RecursionError):
        return [value]


def _elements(text: str) -> Iterator[str]:
    """The texts of an array's elements; ValueError where it is none."""
    last = len(text) - 1
    at = _past_blanks(text, 1)
    while at < last:
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _past_blanks(text, end)
        if at < last:
            if text[at] != ",":
                raise ValueError("neither the next element nor the end")
            at = _past_blanks(text, at + 1)
            if at >= last:
                raise ValueError("a comma and no element")
    if at != last or text[at] != "]":
        raise ValueError("the array has no end")


def _past_blanks(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in BLANKS:
        at += 1
    return at
