"""Slurm's JSON answers, read element by element, so that a broken or truncated file loses only what is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from streams.sources.reading import Place, Unreadable
from streams.sources.text import decoded, encoded

ROW_KEYS: Final = frozenset({"jobs", "nodes", "sinfo"})
_SPACE = re.compile(r"[\s,]*")
_KEY = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*')
_BEGUN_KEY = re.compile(r'"(?:[^"\\]|\\.)*(?:\\|"\s*:?)?')
_WORDS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
LONGEST_ESCAPE: Final = len(r"\u0000")
_DECODER = json.JSONDecoder()

Value = object


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the answer's array, and the bytes it was written in."""

    value: Value
    raw: bytes
    place: Place


@dataclass(slots=True)
class Answer:
    """An answer: its elements, whatever else it says, and the part that could not be read."""

    rows: list[Element] = field(default_factory=list)
    rest: dict[str, Value] = field(default_factory=dict)
    broken: Unreadable | None = None

    def dead_letters(self) -> Iterator[Unreadable]:
        """What the answer as a whole has to say besides its rows: that it is an error, that it is broken."""
        errors = self.rest.get("errors")
        if isinstance(errors, list) and errors:
            said = "; ".join(_error(e) for e in errors)
            yield Unreadable(
                "error_answer",
                f"Slurm answered with an error ({said}): put the request right and ask again",
                json.dumps(errors).encode(),
                Place(),
            )
        if self.broken is not None:
            yield self.broken


class _Broken(Exception):
    """The text stops being JSON at `pos`, inside what began at `at`."""

    def __init__(self, at: int, pos: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.pos = pos
        self.why = why


def answer(data: bytes) -> Answer:
    """The answer in these bytes, as far as it can be read."""
    text = decoded(data)
    found = Answer()
    try:
        _document(text, found)
    except _Broken as broken:
        raw = encoded(text[broken.at :])
        cut = is_cut(text, broken.pos, broken.why)
        found.broken = Unreadable(
            "truncated" if cut else "not_json",
            "the file ends in the middle of a record: what stood before it was read; fetch it again"
            if cut
            else f"the JSON breaks here ({broken.why}): what stood before it was read; correct it or fetch it again",
            raw,
            Place(offset=len(data) - len(raw), index=len(found.rows)),
        )
    return found


def is_cut(text: str, pos: int, why: str) -> bool:
    """Whether JSON that cannot be read at `pos` simply stops there."""
    rest = text[pos:].strip()
    escape_is_last = "escape" in why and len(rest) <= LONGEST_ESCAPE
    begun = any(word.startswith(rest) for word in _WORDS) or _BEGUN_KEY.fullmatch(rest) is not None
    return not rest or begun or escape_is_last or why.startswith("Unterminated")


def _document(text: str, found: Answer) -> None:
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise _Broken(at, at, "an answer begins with {")
    at += 1
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            break
        key, at = _key(text, at)
        if key in ROW_KEYS and text[at : at + 1] == "[":
            at = _array(text, at + 1, found)
        else:
            found.rest[key], at = _value(text, at)
    if text[at + 1 :].strip():
        raise _Broken(at + 1, at + 1, "there is more behind the end of the answer")


def _array(text: str, at: int, found: Answer) -> int:
    """The elements from `at` on, and the position behind the closing bracket."""
    char, byte = at, len(encoded(text[:at]))
    while True:
        start = _skip(text, at)
        if text[start : start + 1] == "]":
            return start + 1
        value, end = _value(text, start)
        byte += len(encoded(text[char:start]))
        raw = encoded(text[start:end])
        found.rows.append(Element(value, raw, Place(offset=byte, index=len(found.rows))))
        char, byte, at = end, byte + len(raw), end


def _key(text: str, at: int) -> tuple[str, int]:
    match = _KEY.match(text, at)
    if match is None:
        raise _Broken(at, at, "a key in quotes and a colon are missing")
    return str(json.loads(match[1])), match.end()


def _value(text: str, at: int) -> tuple[Value, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as wrong:
        raise _Broken(at, wrong.pos, wrong.msg) from wrong
    except RecursionError as wrong:
        raise _Broken(at, at, "it is nested too deep") from wrong


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _error(error: Value) -> str:
    if not isinstance(error, Mapping):
        return str(error)[:200]
    parts = [str(error[name]) for name in ("error", "description", "source") if error.get(name)]
    return f"{', '.join(parts)} [{error.get('error_number', '?')}]"[:300]
