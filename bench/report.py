"""A figure, what was aimed at, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `aim` is what was hoped for; `less`: smaller is better; `of`: (what, share of it).

    `note` is told behind it.
    """

    name: str
    value: float
    unit: str
    aim: float | None
    less: bool = False
    of: tuple[str, float] | None = None
    note: str = ""

    def line(self) -> str:
        """The figure for people."""
        shown = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3f}"
        text = f"{self.name:<52} {shown:>12} {self.unit}"
        if self.aim is not None:
            met = self.value <= self.aim if self.less else self.value >= self.aim
            text += f"   aim {'≤' if self.less else '≥'} {self.aim:,g}: {'met' if met else 'missed'}"
        if self.of is not None:
            text += f"   {self.of[1]:.0%} of {self.of[0]}"
        return text + (f"   ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class Missing:
    """A figure that could not be had here, and why."""

    name: str
    why: str

    def line(self) -> str:
        """The sentence in the place of the number."""
        return f"{self.name:<52} {'–':>12} not measured: {self.why}"


Line = Figure | Missing
