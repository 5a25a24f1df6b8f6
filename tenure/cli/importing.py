"""From files to what goes into the log: formats found, rows counted, the history in the order of its time."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ledger.archive import DeadLetter
from ledger.events import ClockTicked, ClusterEvent, DirectoryEvent, GpuSampled, RunObserved
from ledger.events.directory import AccountChanged, AccountClosed, AccountOpened, ShareRequested
from ledger.state import State
from ledger.units import HOUR_S, epoch_s, epoch_us
from streams.backfill import backfill
from streams.sources import registry
from streams.sources.config import ConfigError, SourceConfig
from streams.sources.detect import Format, UnknownFormat, detect
from streams.sources.files.mapping import SHIPPED, FilesMapping
from streams.sources.history import ClusterHistory, History, seen
from streams.sources.load import load
from streams.sources.reading import AnyEvent, Known, Reading, Statement, Tally, Unreadable, tallied
from streams.sources.setup import is_open, preamble
from streams.sources.text import lines
from streams.sources.unpack import unpacked
from tenure.cli import exits

Source = SourceConfig | FilesMapping
IMPORTED: Final = "import/"
"""Topic of the dead letters of files, in front of the file's name: they stand in no log."""


class NotRead(exits.Stop):
    """A file that cannot be read, or that nobody knows: named it ends the command, in a folder it is passed over."""


@dataclass(slots=True)
class File:
    """One input with what became of each of its rows. `text` is kept of events alone."""

    path: Path
    format: Format
    tally: Tally = field(default_factory=Tally)
    unreadable: list[Unreadable] = field(default_factory=list)
    events: list[AnyEvent] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    text: bytes = b""

    def take(self, reading: Reading) -> None:
        """Sort one reading in."""
        match reading:
            case Unreadable():
                self.unreadable.append(reading)
            case Statement() | Known():
                self.events += reading.events
                if reading.note:
                    self.notes[reading.note] = self.notes.get(reading.note, 0) + 1
            case _:
                pass

    @property
    def is_log(self) -> bool:
        """Whether it is a log of its own, with its ticks: it keeps its order."""
        return self.format == "events" and any(isinstance(event, ClockTicked) for event in self.events)


def inputs(paths: Iterable[Path]) -> list[Path]:
    """The files meant: folders stand for every file in them, by name."""
    found: list[Path] = []
    for path in paths:
        found += sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    if not found:
        raise exits.Stop("there is no file in it: name files, or folders with files")
    return found


def read(path: Path, named: str | None, config: Source | None) -> File:
    """Read a file; raises NotRead where it cannot be read at all, or nobody knows its format, and Stop without what
    its format needs.
    """
    data = load(path)
    if isinstance(data, Unreadable):
        raise NotRead(data.sentence)
    try:
        kind = registry.named(named) if named else detect(data)
    except UnknownFormat as unknown:
        raise NotRead(f"{path}: {unknown}") from unknown
    file = File(path, kind)
    if kind == "events":
        file.text = unpacked(data)[0]
    try:
        for reading in tallied(registry.read(kind, data, config), file.tally):
            file.take(reading)
    except ConfigError as wrong:
        why = f"{path}: {wrong}. {_needs(kind)}"
        raise NotRead(why) if kind == "csv" else exits.Stop(why) from wrong
    return file


def read_all(
    paths: list[Path], named: str | None, config: Source | None, done: Callable[[], None] = lambda: None
) -> tuple[list[File], dict[Path, str]]:
    """The files meant, and those of folders that are passed over, with why; raises Stop if none is left."""
    files: list[File] = []
    passed: dict[Path, str] = {}
    for path in inputs(paths):
        try:
            files.append(read(path, named, config))
        except NotRead as why:
            if path in paths:
                raise
            passed[path] = str(why)
        done()
    if not files:
        raise exits.Stop("; ".join(passed.values()))
    return files, passed


def _needs(kind: Format) -> str:
    """What to write for a format that is not read without being told how."""
    if kind == "csv":
        return f"Say --mapping with {', '.join(SHIPPED)} or a TOML file, or --source NAME for [files.NAME]"
    return "Say whose records they are with --cluster NAME, or --source NAME for [slurm.NAME] of the configuration"


def letters(file: File, cluster: str, now: datetime) -> list[DeadLetter]:
    """The file's unreadable rows as dead letters under the place they have in it.

    The checksum of the bytes stands for the partition: a file that changed does not overwrite older letters, and the
    same file again adds none.
    """
    return [
        DeadLetter(
            topic=f"{IMPORTED}{file.path.name}",
            partition=zlib.crc32(row.raw),
            offset=row.place.offset,
            index=row.place.index,
            cluster=cluster,
            reason=row.reason,
            sentence=f"{_where(file.path, row)}: {row.sentence}",
            raw=row.raw,
            recorded_us=epoch_us(now),
            source=file.format,
            event_id="",
        )
        for row in file.unreadable
    ]


def _where(path: Path, row: Unreadable) -> str:
    return f"{path.name} line {row.place.line}" if row.place.line else path.name


def for_clusters(events: Iterable[AnyEvent]) -> Iterator[ClusterEvent]:
    """The events that belong to a cluster's book."""
    for event in events:
        match event:
            case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested() | GpuSampled():
                continue
            case _:
                yield event


def besides(events: Iterable[AnyEvent]) -> Iterator[DirectoryEvent | GpuSampled]:
    """The directory's events and samples, which no book orders."""
    for event in events:
        match event:
            case AccountOpened() | AccountChanged() | AccountClosed() | ShareRequested() | GpuSampled():
                yield event
            case _:
                continue


def ordered(files: list[File], config: Source | None, known: Mapping[str, State], now: datetime) -> Iterator[bytes]:
    """Everything the files say, in the order of the log: logs as they stand, the rest as a history with its ticks."""
    for file in files:
        if file.is_log:
            yield from _as_it_stands(file)
    histories = [file for file in files if not file.is_log]
    for file in histories:
        yield from map(as_bytes, besides(file.events))
    yield from map(as_bytes, _history(histories, config, known, now))


def _as_it_stands(file: File) -> Iterator[bytes]:
    """The bytes of every event of a log, as they were written; those of batches one by one."""
    found = [line for line in lines(file.text) if line.raw.strip()]
    if any(line.raw.lstrip().startswith(b"[") for line in found):
        yield from map(as_bytes, file.events)
        return
    unreadable = {row.place.line for row in file.unreadable}
    yield from (line.raw for line in found if line.place.line not in unreadable)


def _history(
    files: list[File], config: Source | None, known: Mapping[str, State], now: datetime
) -> Iterator[ClusterEvent]:
    history = History()
    sources = [list(seen(for_clusters(f.events), history, listed=f.format != "events")) for f in files]
    set_up = [] if config is None else preamble(config, history, known)
    yield from backfill(*sources, recorded_at=now, set_up=set_up)


class Early(NamedTuple):
    """Runs of a cluster that are over before its book opens: nothing of them will be booked."""

    cluster: str
    runs: int
    gpu_ms: int
    opens_s: int


def before_opening(files: list[File], known: Mapping[str, State]) -> list[Early]:
    """What the files hold of time before books that are open already, as far as those do not know of it."""
    found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for event in (e for file in files for e in file.events if isinstance(e, RunObserved)):
        data, state = event.data, known.get(event.data.cluster)
        if state is None or state.opens_s is None or data.ended_at is None or not is_open(state):
            continue
        ended_s, job = epoch_s(data.ended_at), state.jobs.get(data.job)
        if ended_s <= state.opens_s and (job is None or data.attempt not in job.attempts):
            milli = sum(p.gpus_milli for p in data.placements)
            length_s = max(0, ended_s - epoch_s(data.started_at) - data.suspended_s)
            found[data.cluster][data.job, data.attempt] = milli * length_s
    return [Early(name, len(runs), sum(runs.values()), known[name].opens_s or 0) for name, runs in found.items()]


class Ticks:
    """Counts the ticks among events on their way."""

    def __init__(self) -> None:
        self.ticks = 0

    def count(self, raws: Iterable[bytes]) -> Iterator[bytes]:
        """Pass the events on."""
        for raw in raws:
            self.ticks += b'"tenure.clock.ticked.v1"' in raw
            yield raw


def as_bytes(event: AnyEvent) -> bytes:
    """The event as one JSON line. A field that says nothing is left out, an explicit null is as if never said."""
    return event.model_dump_json(exclude_none=True).encode()


def expected(files: list[File]) -> int:
    """About how many records there will be, ticks included: what a progress bar counts towards."""
    number = sum(len(file.events) for file in files)
    spans: History = History()
    for file in files:
        if not file.is_log:
            for _ in seen(for_clusters(file.events), spans):
                pass
    return number + sum(_hours(c) for c in spans.clusters.values())


def _hours(history: ClusterHistory) -> int:
    if history.first_s is None or history.last_s is None:
        return 0
    return (history.last_s - history.first_s) // HOUR_S


def json_of(file: File) -> dict[str, object]:
    """The file's tally for programs."""
    return {
        "path": str(file.path),
        "format": file.format,
        "rows": file.tally.rows,
        "readings": dict(sorted(file.tally.counts.items())),
        "dead_letters": file.tally.dead_letters,
        "events": len(file.events),
        "order": "as it stands" if file.is_log else "by time",
        "notes": file.notes,
    }
