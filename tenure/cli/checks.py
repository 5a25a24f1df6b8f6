"""What a doctor looks at."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "note", "act"]


class Check(NamedTuple):
    """One thing looked at. `value` is for programs, `sentence` for people; `act` says that a hand is needed."""

    level: Level
    name: str
    sentence: str
    value: object
