"""Whether a worker gets on, partition by partition. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LaneHealth:
    """How far a partition is. `lag` counts records Kafka has beyond the last taken; ages are seconds."""

    partition: str
    next_offset: int
    lag: int
    waiting: int
    last_take_age_s: float
    last_commit_age_s: float
    unsaved: bool

    def stalls(self, stall_s: float) -> bool:
        """Whether there is something to take or to save, and nothing happened for so long."""
        take = self.lag > 0 and self.last_take_age_s > stall_s
        return take or (self.unsaved and self.last_commit_age_s > stall_s)


@dataclass(frozen=True, slots=True)
class Health:
    """All partitions of a worker; `trouble` is what it waits for or failed of, '' if nothing."""

    lanes: tuple[LaneHealth, ...]
    trouble: str
    stall_s: float

    @property
    def well(self) -> bool:
        """Green: nothing stands still, nothing is waited for."""
        return not self.trouble and not self.stalled

    @property
    def stalled(self) -> tuple[str, ...]:
        """Partitions that stand still."""
        return tuple(lane.partition for lane in self.lanes if lane.stalls(self.stall_s))

    def report(self) -> dict[str, object]:
        """All of it for programs."""
        return {
            "well": self.well,
            "trouble": self.trouble,
            "stalled": self.stalled,
            "partitions": [asdict(lane) for lane in self.lanes],
        }
