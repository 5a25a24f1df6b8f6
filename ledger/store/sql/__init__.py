"""The SQL of the store, as files: migrations (forward only), views (the public contract), queries (named)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_HERE = files(__name__)


@cache
def read(folder: str) -> dict[str, str]:
    """The texts of a folder's .sql files by name without suffix, in order of name."""
    found = [entry for entry in (_HERE / folder).iterdir() if entry.name.endswith(".sql")]
    return {entry.name.removesuffix(".sql"): entry.read_text("utf-8") for entry in sorted(found, key=str)}


def statements(text: str) -> list[str]:
    """The statements of a file, which ends each with a semicolon at the end of a line."""
    parts = (part.strip() for part in text.split(";\n"))
    return [part.removesuffix(";") for part in parts if _has_code(part)]


def _has_code(part: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("--") for line in part.splitlines())
