"""What becomes of one input row: exactly one named reading, and a tally in which they add up to the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

from ledger.events import ClusterEvent, DirectoryEvent
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.events.nodes import GpuSampled

AnyEvent = ClusterEvent | DirectoryEvent | GpuSampled

About = Literal["run", "job", "node", "event"]
"""What a statement speaks of: a run (an attempt on GPUs), a job that never started, a node, a ready-made event."""

SkippedKind = Literal[
    "header",
    "blank",
    "prompt",
    "continuation",
    "step",
    "job_without_gpus",
    "node_without_gpus",
    "gpus_not_recorded",
    "ran_elsewhere",
    "partition",
]
"""Rows that are understood and say nothing of GPU time; docs/importing.md explains each."""

SKIPPED_SENTENCES: Final[Mapping[SkippedKind, str]] = {
    "header": "names the columns",
    "blank": "holds nothing",
    "prompt": "is the command that was typed, kept at the top of a transcript",
    "continuation": "belongs to the record that began on an earlier line",
    "step": "is a step of a job; the job's own row has its time",
    "job_without_gpus": "is a job that neither holds nor asks for a GPU",
    "node_without_gpus": "is a node without a GPU",
    "gpus_not_recorded": "is a job, and the file does not say how many GPUs it held or asked for",
    "ran_elsewhere": "is a federated job that another cluster took over",
    "partition": "describes a partition",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record begins: `line` counts from 1, `offset` in bytes from 0, `index` within a JSON array."""

    line: int = 0
    offset: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """The first statement of what it speaks of in this import. `note` is what a person should know about it."""

    about: About
    events: tuple[AnyEvent, ...]
    place: Place
    note: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A further statement of a run or job this import has met; its events go to the log all the same."""

    about: About
    events: tuple[AnyEvent, ...]
    place: Place
    note: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that is understood and says nothing of GPU time."""

    kind: SkippedKind
    place: Place


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row for the dead letters: `reason` names the cause, `sentence` says what to do, `raw` is what was there."""

    reason: str
    sentence: str
    raw: bytes
    place: Place


Reading = Statement | Known | Skipped | Unreadable


class Refused(Exception):
    """A record that cannot become a statement: `reason` is its name, the message what a person can do."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


def name_of(reading: Reading) -> str:
    """The name under which a reading is counted."""
    match reading:
        case Statement():
            return {
                "run": "first_statement",
                "job": "never_started",
                "node": "node",
                "event": "event",
            }[reading.about]
        case Known():
            return "node_again" if reading.about == "node" else "further_statement"
        case Skipped():
            return reading.kind
        case Unreadable():
            return f"unreadable:{reading.reason}"
        case _:
            assert_never(reading)


def events_of(readings: Iterable[Reading]) -> Iterator[AnyEvent]:
    """The events of all statements, first and further, in the order of the rows."""
    for reading in readings:
        if isinstance(reading, Statement | Known):
            yield from reading.events


def cluster_events_of(readings: Iterable[Reading]) -> Iterator[ClusterEvent]:
    """Those that belong to a cluster's log; the directory's and samples have topics of their own."""
    for event in events_of(readings):
        match event:
            case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested() | GpuSampled():
                continue
            case _:
                yield event


@dataclass(slots=True)
class Tally:
    """How many rows came to each reading, by name."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, reading: Reading) -> None:
        self.counts[name_of(reading)] += 1

    @property
    def rows(self) -> int:
        """All rows read, whatever became of them."""
        return self.counts.total()

    @property
    def dead_letters(self) -> int:
        """Rows that go to the dead letters."""
        return sum(n for name, n in self.counts.items() if name.startswith("unreadable:"))

    def check(self, rows: int) -> None:
        """Fail when the readings do not add up to the rows of the input: some row was lost or doubled."""
        assert self.rows == rows, f"{rows} rows went in and {self.rows} readings came out: {dict(self.counts)}"

    def sentence(self) -> str:
        """The tally for people, greatest count first."""
        named = ", ".join(f"{n} {name}" for name, n in self.counts.most_common())
        return f"{self.rows} rows: {named}" if named else "no rows"


def tallied(readings: Iterable[Reading], tally: Tally) -> Iterator[Reading]:
    """Pass the readings on and count each."""
    for reading in readings:
        tally.add(reading)
        yield reading
