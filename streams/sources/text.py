"""Bytes to lines: where each line begins, and text that keeps bytes which are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.sources.reading import Place


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line without its line ending; `complete` is false for a last line without one."""

    raw: bytes
    place: Place
    complete: bool


def lines(data: bytes) -> Iterator[Line]:
    """Every physical line of the input, numbered from 1; an input that ends in a line ending has no empty last line."""
    offset = 0
    for number, raw in enumerate(data.splitlines(keepends=True) if b"\r" not in data else _lf(data), start=1):
        body = raw.rstrip(b"\r\n") if raw.endswith((b"\n", b"\r")) else raw
        yield Line(body, Place(line=number, offset=offset), complete=raw is not body)
        offset += len(raw)


def _lf(data: bytes) -> list[bytes]:
    """Lines that end in LF or CRLF; a lone CR stays inside its line."""
    parts = data.split(b"\n")
    ended = [part + b"\n" for part in parts[:-1]]
    return [*ended, parts[-1]] if parts[-1] else ended


def decoded(raw: bytes) -> str:
    """UTF-8 text in which every byte that is not UTF-8 stands as a lone surrogate; `encoded` gives the bytes back."""
    return raw.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes that `decoded` read."""
    return text.encode("utf-8", "surrogateescape")


def visible(text: str) -> str:
    """The text with each undecodable byte written as an escape: what may go into an event, which is UTF-8."""
    return text if text.isascii() else encoded(text).decode("utf-8", "backslashreplace")
