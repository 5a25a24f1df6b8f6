"""Compressed bytes to plain ones; what a broken archive still holds is kept."""

from __future__ import annotations

import zlib
from typing import Final

from streams.sources.reading import Place, Unreadable

GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31
"""zlib's code for a gzip wrapper and the largest window."""


def unpacked(data: bytes) -> tuple[bytes, Unreadable | None]:
    """Plain bytes, gunzipped if need be, and the dead letter for an archive that is cut short or damaged."""
    if not data.startswith(GZIP_MAGIC):
        return data, None
    plain: list[bytes] = []
    rest = data
    while rest:
        stream = zlib.decompressobj(_GZIP_WINDOW)
        try:
            plain.append(stream.decompress(rest))
        except zlib.error as wrong:
            return b"".join(plain), _archive("damaged_gzip", f"the gzip archive is damaged ({wrong})", rest)
        if not stream.eof:
            return b"".join(plain), _archive("truncated_gzip", "the gzip archive is cut short", rest)
        rest = stream.unused_data.lstrip(b"\0")
    return b"".join(plain), None


def _archive(reason: str, what: str, rest: bytes) -> Unreadable:
    sentence = f"{what}: what it still held was read; fetch it again and import it again, repeats are recognised"
    return Unreadable(reason, sentence, rest, Place())
