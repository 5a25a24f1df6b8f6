"""Maintenance windows as facts: nodes that people mean to take out of service for a while. Pure.

They book nothing: capacity follows what nodes are stated to be. Whoever plans looks at them.
"""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """Its nodes by name, each once, over [since_s, until_s)."""

    window: str
    nodes: tuple[str, ...]
    since_s: int
    until_s: int
