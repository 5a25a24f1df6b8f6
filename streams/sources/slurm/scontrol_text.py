"""The text of `scontrol show`: records in blocks or one per line, and their `Key=value` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streams.sources.reading import Place, Skipped, Unreadable
from streams.sources.text import Line, decoded, lines

_FIRST: Final = re.compile(r"(JobId|NodeName|PartitionName)=")
_PAIR: Final = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z_/:.]*)=")
_TO_THE_END: Final = ("Reason", "OS", "Comment", "AdminComment", "SystemComment", "Command", "WorkDir")
"""Free text: it runs to the end of its line, whatever equals signs it holds."""
_NULL: Final = frozenset({"(null)", "N/A", "None", "n/a"})


@dataclass(frozen=True, slots=True)
class Block:
    """One record: its first line, and the lines that go on with it."""

    kind: str
    text: str
    raw: bytes
    place: Place
    continuations: tuple[Place, ...]
    complete: bool


def blocks(data: bytes) -> Iterator[Block | Skipped | Unreadable]:
    """Records, blank lines between them, prompts, and lines that belong to no record."""
    pending: list[Line] = []
    blank: list[Line] = []
    for line in lines(data):
        text = decoded(line.raw)
        begins = _FIRST.match(text) is not None
        if pending and not begins and text[:1].isspace() and text.strip():
            pending += [*blank, line]
            blank = []
            continue
        if pending and not text.strip():
            blank.append(line)
            continue
        yield from _finished(pending, blank)
        pending, blank = ([line], []) if begins else ([], [])
        if begins:
            continue
        if not text.strip():
            yield Skipped("blank", line.place)
        elif text.startswith("$ "):
            yield Skipped("prompt", line.place)
        else:
            sentence = "the line belongs to no record: a record begins with JobId= or NodeName="
            yield Unreadable("not_a_record", sentence, line.raw, line.place)
    yield from _finished(pending, blank)


def _finished(pending: list[Line], blank: list[Line]) -> Iterator[Block | Skipped]:
    if pending:
        raw = b"\n".join(line.raw for line in pending)
        match = _FIRST.match(decoded(pending[0].raw))
        assert match is not None, "a block begins with the key of its kind"
        rest = tuple(line.place for line in pending[1:])
        yield Block(match[1], decoded(raw), raw, pending[0].place, rest, pending[-1].complete)
    yield from (Skipped("blank", line.place) for line in blank)


def fields_of(text: str) -> dict[str, str]:
    """`Key=value` pairs, the first of each key. Free text runs to the end of its line."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        keys = list(_PAIR.finditer(line))
        for at, key in enumerate(keys):
            free = key[1] in _TO_THE_END and "\n" in text
            end = len(line) if free or at + 1 == len(keys) else keys[at + 1].start()
            value = line[key.end() : end].strip()
            found.setdefault(key[1], "" if value in _NULL else value)
            if free:
                break
    return found
