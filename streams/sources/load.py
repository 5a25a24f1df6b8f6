"""The one place where sources touch files."""

from __future__ import annotations

from pathlib import Path

from streams.sources.reading import Place, Unreadable


def load(path: Path) -> bytes | Unreadable:
    """The bytes of a file, or the dead letter that says why there are none."""
    try:
        return path.read_bytes()
    except OSError as wrong:
        why = wrong.strerror or type(wrong).__name__
        sentence = f"{path} cannot be read ({why}): check that it exists and that this user may read it"
        return Unreadable("unreadable_file", sentence, str(path).encode(), Place())
