"""The time a demo covers, and where in it things happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ledger.units import DAY_S, HOUR_S

OPENS_S: Final = 1_788_220_800
"""2026-09-01T00:00:00Z, a Tuesday: a month of thirty days, far from any change of clocks."""

STORY_DAYS: Final = 30
"""Days the story is written for; a shorter demo tells the same story faster."""


@dataclass(frozen=True, slots=True)
class Span:
    """[opens_s, ends_s) of a demo of whole days, in epoch seconds."""

    days: int
    opens_s: int = OPENS_S

    def __post_init__(self) -> None:
        if self.days < 1:
            raise ValueError("a demo covers at least one day: give days >= 1")

    @property
    def ends_s(self) -> int:
        return self.opens_s + self.days * DAY_S

    @property
    def hours(self) -> int:
        return self.days * DAY_S // HOUR_S

    def at(self, day: int, hour: int = 0, minute: int = 0) -> int:
        """Epoch second of a moment of the thirty-day story, drawn nearer in a shorter demo."""
        return self.opens_s + (day * DAY_S + hour * HOUR_S + minute * 60) * self.days // STORY_DAYS

    def lasting(self, seconds: int) -> int:
        """A length of the thirty-day story in seconds, shortened with it."""
        return seconds * self.days // STORY_DAYS
