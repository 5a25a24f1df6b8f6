"""GPU counts out of TRES and GRES in all their spellings.

`gres/gpu=4,gres/gpu:h100=4` is four GPUs: typed and untyped entries name the same ones. `gpu:h100:4(IDX:0-3)`,
`gres:gpu:h100:4` and `gres/gpu:h100:4` are the spellings of requests and details. `gpfs:gpu:0` is no GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ledger.units import GPU_MILLI
from streams.sources.slurm.nodelist import numbers

MIG_SLICES: Final = 7
_MIG = re.compile(r"(\d+)g\.\d+gb.*", re.IGNORECASE)
_PARENS = re.compile(r"\(([^)]*)\)")
_COUNT: Final = re.compile(r"(\d+)([KMGT]?)")
_MULTIPLE: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NOTHING: Final = frozenset({"", "(null)", "N/A", "None"})


class GresWrong(ValueError):
    """A GPU entry whose count cannot be read."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs as one string names them: milli-GPUs, the types named, device indices where given."""

    milli: int
    types: tuple[str, ...] = ()
    indices: tuple[int, ...] | None = None

    @property
    def gpu_type(self) -> str | None:
        """The type where there is exactly one."""
        return self.types[0] if len(self.types) == 1 else None


@dataclass(frozen=True, slots=True)
class _Entry:
    type: str
    count: int
    indices: tuple[int, ...] | None


def mig_milli(slices: int) -> int:
    """milli-GPUs of so many seventh slices: six of seven count 143, the last 142, so that a whole GPU is 1000."""
    whole, rest = divmod(slices, MIG_SLICES)
    return whole * GPU_MILLI + rest * 143


@lru_cache(maxsize=8_192)
def gpus(text: str) -> Gpus | None:
    """The GPUs a TRES or GRES string names; None where it names none at all, not even zero. Raises GresWrong."""
    if text in _NOTHING or "gpu" not in text:
        return None
    entries = [entry for part in _parts(text) if (entry := _entry(part)) is not None]
    return _total(entries) if entries else None


def gpus_of(counts: Iterable[tuple[str, int]]) -> Gpus | None:
    """The GPUs of (name, count) pairs as JSON lists TRES: `("gpu", 4)`, `("gpu:h100", 4)`."""
    entries = [
        _Entry(name.removeprefix("gpu").removeprefix(":"), count, None)
        for name, count in counts
        if name == "gpu" or name.startswith("gpu:")
    ]
    return _total(entries) if entries else None


def _total(entries: list[_Entry]) -> Gpus:
    """The greater of the typed sum and the untyped count; GPUs without a type make up the difference."""
    typed = [e for e in entries if e.type]
    typed_count = sum(e.count for e in typed)
    untyped_count = sum(e.count for e in entries if not e.type)
    milli = sum(_milli(e) for e in typed) + max(0, untyped_count - typed_count) * GPU_MILLI
    types = tuple(sorted({e.type for e in typed if e.count}))
    named = [e.indices for e in entries if e.indices is not None]
    indices = tuple(sorted({i for some in named for i in some})) if named else None
    return Gpus(milli, types, indices if indices and len(indices) * GPU_MILLI == milli else None)


def _milli(entry: _Entry) -> int:
    mig = _MIG.fullmatch(entry.type)
    return entry.count * GPU_MILLI if mig is None else mig_milli(int(mig[1]) * entry.count)


def _parts(text: str) -> list[str]:
    """The entries between commas outside parentheses."""
    if "(" not in text:
        return text.split(",")
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _entry(part: str) -> _Entry | None:
    """One GPU entry; None for anything else."""
    note = _PARENS.search(part)
    bare = (part if note is None else _PARENS.sub("", part)).strip()
    bare = bare.removeprefix("gres/").removeprefix("gres:")
    if not (bare == "gpu" or bare.startswith(("gpu:", "gpu="))):
        return None
    name, _, value = bare.partition("=")
    kind, pieces = "", name.split(":")[1:]
    if value:
        kind, count = ":".join(pieces), _number(value, part)
    elif pieces and _COUNT.fullmatch(pieces[-1]):
        kind, count = ":".join(pieces[:-1]), _number(pieces[-1], part)
    else:
        kind, count = ":".join(pieces), 1
    return _Entry(kind.removesuffix(":no_consume"), count, _indices(note[1]) if note else None)


def _number(value: str, part: str) -> int:
    match = _COUNT.fullmatch(value)
    if match is None:
        raise GresWrong(f"{part!r} does not end in a count")
    return int(match[1]) * _MULTIPLE[match[2]]


def _indices(note: str) -> tuple[int, ...] | None:
    """Device indices of `IDX:0-2,4`; None for sockets (`S:0-3`) and `IDX:N/A`."""
    kind, _, listed = note.partition(":")
    if kind != "IDX" or listed in {"", "N/A"}:
        return None
    return tuple(int(n) for n in numbers(listed))
