"""The SQL of the command line, over the public views alone, as files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read(name: str) -> str:
    """The text of a query."""
    return (files(__name__) / f"{name}.sql").read_text("utf-8")
