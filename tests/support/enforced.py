"""The log of a small cluster with an enforcer, as a file that `tenure ingest` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger.outcomes import Applied
from ledger.units import HOUR_S, instant
from tests.support.enforcing import START_S, Work, World

MINUTE_S = 60


@dataclass
class Logged(World):
    """A cluster whose every event is kept, as it was written."""

    log: list[bytes] = field(default_factory=list)

    def fold(self, event: Any) -> Applied | None:
        self.log.append(event.model_dump_json(exclude_none=True).encode())
        return super().fold(event)

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(raw + b"\n" for raw in self.log))
        return path


def a_morning() -> Logged:
    """First it is only observed, from 01:30 on enforced, up to 05:10.

    `free` yields to `urgent`, `sweep` to `small`; then the others wait, each for a reason of its own.
    """
    world = Logged(look_s=300)
    world.say("policy.set", author="ann", enforcement="observe", grace_s=60, reason="see first what it would do")
    for name in ("n1", "n2"):
        world.add_node(name, 8)
    shares = [
        {"child": "a", "share_percent": 50},
        {"child": "b", "share_percent": 30},
        {"child": "c", "share_percent": 20, "slot_limit_milli": 4000},
    ]
    world.say("shares.set", author="ann", parent="lab", children=shares, expected_revision=0)
    early = [
        Work("sweep", "lab/b", 1, 8_000, HOUR_S, resumable=True, checkpoint_s=1800),
        Work("free", "lab/c", 1, 8_000, 0),
        Work("urgent", "lab/a", 1, 8_000, HOUR_S, from_s=30 * MINUTE_S, left_s=3 * HOUR_S),
    ]
    world.play_on(START_S + 90 * MINUTE_S, early)
    world.say("policy.set", author="ann", enforcement="enforce", reason="the plans of the morning were right")
    later = [
        Work("gang", "lab/a", 2, 8_000, 2 * HOUR_S, from_s=2 * HOUR_S, resumable=True),
        Work("small", "lab/c", 1, 2_000, HOUR_S, from_s=3 * HOUR_S),
        Work("late", "lab/a", 1, 8_000, 4 * HOUR_S, from_s=5 * HOUR_S),
    ]
    world.play_on(START_S + 5 * HOUR_S + 10 * MINUTE_S, later)
    return world


def and_who_waits(world: Logged) -> Logged:
    """Jobs that have just come, and the next tick."""
    for work in (
        Work("spare", "lab/c", 1, 8_000, 0),
        Work("fresh", "lab/b", 1, 8_000, HOUR_S),
        Work("more", "lab/c", 1, 4_000, HOUR_S),
        Work("wide", "lab/a", 3, 8_000, HOUR_S),
    ):
        world.submit(work)
    world.now_s += 20
    world.say("clock.ticked", at=instant(world.now_s))
    return world
