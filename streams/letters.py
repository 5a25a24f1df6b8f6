"""Dead letters as records of their own topic: where each stands, why it was not taken, and its bytes. Pure.

The store keeps them all; the topic tells whoever listens, at least once. A letter of many bytes is several records.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.archive import DeadLetter

PART_BYTES: Final = 1 << 20
"""Bytes of a letter to a record: with base64 and escapes well below the largest record."""


def records(letter: DeadLetter) -> Iterator[bytes]:
    """The letter as JSON, in `parts` parts; put together, their `raw_base64` are its bytes."""
    starts = range(0, max(1, len(letter.raw)), PART_BYTES)
    told: dict[str, Any] = letter._asdict()
    del told["raw"]
    for part, start in enumerate(starts):
        raw = b64encode(letter.raw[start : start + PART_BYTES]).decode()
        yield json.dumps({**told, "part": part, "parts": len(starts), "raw_base64": raw}).encode()


def letter(parts: Sequence[bytes]) -> DeadLetter:
    """The letter that these records are, all of its parts in their order."""
    told: list[dict[str, Any]] = [json.loads(part) for part in parts]
    raw = b"".join(b64decode(part["raw_base64"]) for part in told)
    rest = {name: told[0][name] for name in DeadLetter._fields if name != "raw"}
    return DeadLetter(raw=raw, **rest)
