"""What is asked of a live Slurm, whatever way it goes; an answer is bytes in a known format, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from streams.sources.detect import SlurmFormat

LiveFormat = SlurmFormat | Literal["scontrol-reservation", "slurm-reservations-json"]
"""Reservations are only asked for live: a file of them says nothing of a month that is over."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, as Slurm gave it."""

    format: LiveFormat
    data: bytes


@dataclass(frozen=True, slots=True)
class Silent:
    """No answer. The sentence says to which question, why, and what a person can do."""

    sentence: str


Answer = Told | Silent


class Slurm(Protocol):
    """Blocking calls, each with a timeout. None raises for what Slurm says or leaves unsaid."""

    def jobs(self) -> Answer:
        """All jobs the controller knows, in whatever state."""
        ...

    def ended(self, since_s: int, until_s: int) -> Answer:
        """What accounting has of jobs that ended in [since, until], earlier attempts of requeued ones too."""
        ...

    def accounting(self, jobs: Sequence[str]) -> Answer:
        """What accounting has of these jobs, by number or `number_task`, whenever they ran."""
        ...

    def nodes(self) -> Answer:
        """All nodes."""
        ...

    def reservations(self) -> Answer:
        """All reservations."""
        ...
