"""What was told so far: enough to tell every fact once, kept on disk between polls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from streams.sources.slurm.reservations import Reserved

Pauses = tuple[tuple[int, int | None], ...]
"""Stretches [since, until) of a run that did not run, in order; None while the last one lasts."""
VERSION: Final = 1


class CursorWrong(ValueError):
    """A cursor that cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was told of one attempt. `asked` are its terms as JSON.

    `unseen` counts the polls in a row that answered and did not name it. `number` is Slurm's own name of the job.
    """

    phase: Literal["waiting", "running", "ended"]
    asked: str = ""
    start_s: int = 0
    pauses: Pauses = ()
    end_s: int = 0
    suspended_s: int = 0
    unseen: int = 0
    number: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What was told of one node; `unseen` as of an attempt."""

    state: str
    reason: str
    gpu_type: str
    gpus_milli: int
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the telling is. What ended before `since_s` is not told: the collector did not look then.

    `accounted_s` is the instant up to which accounting was asked, `jobs_s` and `nodes_s` are those of the last lists
    of jobs and nodes. Attempts go by `job/attempt`, windows by their reservation. `refused` are rows nothing could be
    made of, by digest, while they still come. `slurm` is what the controller calls its cluster, '' until it has named
    one.
    """

    since_s: int
    accounted_s: int = 0
    jobs_s: int = 0
    nodes_s: int = 0
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    windows: Mapping[str, Reserved] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    slurm: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A cursor with the events that lead up to it and are not acknowledged yet, each as JSON."""

    cursor: Cursor
    outbox: tuple[str, ...] = ()
    version: int = VERSION

    def sent(self) -> Kept:
        """Once they are acknowledged."""
        return replace(self, outbox=())


_KEPT: Final = TypeAdapter(Kept)


def dumps(kept: Kept) -> bytes:
    """As it is kept on disk."""
    return _KEPT.dump_json(kept, exclude_defaults=True)


def loads(data: bytes) -> Kept:
    """As it was kept; raises CursorWrong."""
    try:
        kept = _KEPT.validate_json(data)
    except ValidationError as wrong:
        raise CursorWrong("it is damaged, or of another version of Tenure") from wrong
    if kept.version != VERSION:
        raise CursorWrong(f"it is of version {kept.version}, and this is {VERSION}")
    return kept
