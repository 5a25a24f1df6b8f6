"""Slurm's node lists: `gn[1-4,07],login1` names gn1 … gn4, gn07 and login1."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import Final

NO_NODES: Final = frozenset({"", "None assigned", "(null)", "None", "N/A"})
MAX_NODES: Final = 100_000
"""The most nodes an event's shape can name."""

_GROUP = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?(?:[%:]\d+)?")


class ListWrong(ValueError):
    """A list in brackets that cannot be expanded; the message says why."""


@lru_cache(maxsize=4_096)
def expand(text: str) -> tuple[str, ...]:
    """Every name in the list, in its order; empty for a job without nodes. Raises ListWrong."""
    if text in NO_NODES:
        return ()
    names: list[str] = []
    for part in _split(text):
        names.extend(_expand_one(part))
        if len(names) > MAX_NODES:
            raise ListWrong(f"{text[:80]!r} names more than {MAX_NODES} nodes")
    return tuple(names)


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
        if depth not in {0, 1}:
            break
    if depth:
        raise ListWrong(f"the brackets of {text[:80]!r} do not match: the list is cut short")
    parts.append(text[start:])
    return [part for part in parts if part]


def _expand_one(part: str) -> list[str]:
    """One name, or all names of one bracketed part; several brackets multiply."""
    pieces = _GROUP.split(part)
    if len(pieces) == 1:
        return [part]
    literals, groups = pieces[0::2], [numbers(group) for group in pieces[1::2]]
    return [
        "".join([literals[0], *(a + b for a, b in zip(chosen, literals[1:], strict=True))])
        for chosen in product(*groups)
    ]


def numbers(text: str) -> list[str]:
    """The numbers of `1-4,07`, zeros in front kept. Raises ListWrong."""
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ListWrong(f"{part!r} in {text[:80]!r} is not a number or a range like 1-4")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first) or int(last) - int(first) >= MAX_NODES:
            raise ListWrong(f"the range {part!r} runs backwards or is too long")
        found.extend(str(n).zfill(len(first)) for n in range(int(first), int(last) + 1))
    return found
