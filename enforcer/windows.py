"""Maintenance windows as the enforcer sees them: which nodes are near one, and which of them are to be emptied. Pure.

Nobody gets room on a node from so long before its window as the longest minimum runtime is: what starts there could be
inside its contract when the window begins. Shortly before the window, and in it, the node is emptied as if it drained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ledger.state import State
from ledger.windows import Window

AHEAD_S: Final = 300
"""A node is emptied so long before the last grace would have to begin."""


def near(state: State) -> dict[str, Window]:
    """The nodes that get no new work at the last tick, each with the first window for which."""
    longest_s = state.policy_at(state.ticked_s).max_min_runtime_s
    return _within(state, max(longest_s, _leaving_s(state)))


def emptying(state: State) -> dict[str, Window]:
    """Those of them that are to be emptied."""
    return _within(state, _leaving_s(state))


def emptied_s(state: State, node: str) -> int:
    """Since when its window has a node emptied; 0 where none has."""
    window = emptying(state).get(node)
    return 0 if window is None else window.since_s - _leaving_s(state)


def turns_s(state: State) -> Iterator[int]:
    """The instants after the last tick at which that changes."""
    longest_s, leaving_s = state.policy_at(state.ticked_s).max_min_runtime_s, _leaving_s(state)
    for _, _, since_s, until_s in state.windows.values():
        turns = (since_s - longest_s, since_s - leaving_s, until_s)
        yield from (at_s for at_s in turns if at_s > state.ticked_s)


def _within(state: State, ahead_s: int) -> dict[str, Window]:
    at_s = state.ticked_s
    found: dict[str, Window] = {}
    for window in sorted(state.windows.values(), key=lambda one: (one.since_s, one.window)):
        if window.since_s - ahead_s <= at_s < window.until_s:
            for node in window.nodes:
                found.setdefault(node, window)
    return found


def _leaving_s(state: State) -> int:
    return state.policy_at(state.ticked_s).grace_s + AHEAD_S
