"""What a play is made of: work as its users mean it, and attempts that hold nodes. Instants in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

ENDLESS_S: Final = 1 << 40
"""How long work lasts of which nobody knows an end: longer than any play."""
LEAVES_S: Final = 30
"""How long a run takes to leave once it is told to."""


@dataclass
class Work:
    """A job. It needs `left_s` more of running on `pieces` of `piece_milli` each, at most one on a node if `apart`.

    `checkpoint_s` 0 saves nothing before the end. `limit_s` is what it asks for at most, by which schedulers plan.
    """

    name: str
    account: str
    pieces: int
    piece_milli: int
    min_runtime_s: int
    resumable: bool = False
    checkpoint_s: int = 0
    left_s: int = ENDLESS_S
    leaves_s: int = LEAVES_S
    kind: str = "batch"
    user: str = "u"
    gpu_type: str = ""
    priority: int = 0
    gang: str = ""
    apart: bool = True
    limit_s: int | None = None
    ends_as: str = "succeeded"
    withdrawn_s: int | None = None
    attempts: int = 0

    @property
    def milli(self) -> int:
        """All it asks for."""
        return self.pieces * self.piece_milli

    @property
    def planned_s(self) -> int:
        """How long a scheduler has to expect it to run."""
        return self.left_s if self.limit_s is None else self.limit_s

    def submission(self) -> dict[str, Any]:
        """What its user tells of it, as `job.submitted` does."""
        told: dict[str, Any] = {
            "job": self.name,
            "user": self.user,
            "gpus_milli": self.milli,
            "min_runtime_s": self.min_runtime_s,
            "resumable": self.resumable,
            "kind": self.kind,
            "priority": self.priority,
        }
        if self.apart:
            told["shape"] = {"nodes": self.pieces, "gpus_per_node_milli": self.piece_milli}
        named = {"account": self.account, "gpu_type": self.gpu_type, "gang": self.gang}
        return told | {name: value for name, value in named.items() if value}


@dataclass
class Running:
    """An attempt on its nodes; `saved_s` is its last checkpoint, or its start. `how` it was ordered off, '' if not."""

    work: Work
    attempt: str
    places: dict[str, int]
    start_s: int
    saved_s: int
    ends_s: int
    outcome: str
    how: str = ""

    def planned_end_s(self) -> int:
        """When a scheduler has to expect its end."""
        limit_s = self.work.limit_s
        return self.ends_s if limit_s is None or self.how else self.start_s + limit_s
