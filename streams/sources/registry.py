"""The one door to all formats: bytes and a configuration in, readings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from streams.sources import events_json
from streams.sources.config import ConfigError, SourceConfig
from streams.sources.detect import ALIASES, Format, SlurmFormat, UnknownFormat, detect
from streams.sources.files import read as csv
from streams.sources.files.mapping import FilesMapping
from streams.sources.reading import Known, Place, Reading, Statement, Unreadable
from streams.sources.slurm import accounting_json, controller_json, nodes_json, sacct_text, scontrol, sonar_json
from streams.sources.unpack import unpacked

__all__ = ["ALIASES", "Format", "UnknownFormat", "detect", "named", "read"]

Config = SourceConfig | FilesMapping

BY_LINE: Final[frozenset[Format]] = frozenset({"sacct", "csv", "events", "scontrol-job", "scontrol-node"})
UNFINISHED: Final = (
    "the last line has no line ending: if the file was cut there, the last field is short; compare it with its source"
)


def named(name: str) -> Format:
    """The format of that name or alias. Raises UnknownFormat listing all."""
    if name not in ALIASES:
        raise UnknownFormat(f"there is no format {name!r}: name one of {', '.join(sorted(ALIASES))}")
    return ALIASES[name]


def read(kind: Format, data: bytes, config: Config | None) -> Iterator[Reading]:
    """A reading for every row, then one dead letter more for an archive that was broken. Raises ConfigError.

    `csv` wants a FilesMapping and the Slurm formats a SourceConfig; `events` need none. A last row without a
    line ending is read, with a note: it may have been cut where nobody can see it.
    """
    plain, broken = unpacked(data)
    if broken is not None and kind in BY_LINE:
        plain, cut = _whole_lines(plain)
    else:
        cut = None
    if plain.strip():
        unfinished = kind in BY_LINE and not plain.endswith(b"\n")
        yield from _noted(_plain(kind, plain, config)) if unfinished else _plain(kind, plain, config)
    elif broken is None:
        yield Unreadable(
            "empty_file",
            "there is nothing in it: slurmrestd answers 304 with an empty body when nothing changed, and a failed "
            "export leaves an empty file; ask again without update_time",
            data,
            Place(),
        )
    yield from (letter for letter in (cut, broken) if letter is not None)


def _whole_lines(plain: bytes) -> tuple[bytes, Unreadable | None]:
    """The lines that are whole, and the dead letter for the one an archive broke off in."""
    end = plain.rfind(b"\n") + 1
    if not plain[end:].strip():
        return plain, None
    sentence = "the archive broke off in this line: what stood before it was read; fetch it again"
    return plain[:end], Unreadable("truncated", sentence, plain[end:], Place(offset=end))


def _noted(readings: Iterator[Reading]) -> Iterator[Reading]:
    """The readings, a note on the last of them."""
    held = next(readings, None)
    for reading in readings:
        if held is not None:
            yield held
        held = reading
    if isinstance(held, Statement | Known):
        held = replace(held, note=held.note or UNFINISHED)
    if held is not None:
        yield held


def _plain(kind: Format, data: bytes, config: Config | None) -> Iterator[Reading]:
    match kind:
        case "events":
            return events_json.read(data)
        case "csv":
            if not isinstance(config, FilesMapping):
                raise ConfigError("a CSV needs a mapping: name one that is shipped, or a TOML file of your own")
            return csv.read(data, config)
        case _:
            if not isinstance(config, SourceConfig):
                raise ConfigError(f"{kind} needs a Slurm source: at least cluster = 'name'")
            return _slurm(kind, data, config)


def _slurm(kind: SlurmFormat, data: bytes, config: SourceConfig) -> Iterator[Reading]:
    match kind:
        case "sacct":
            return sacct_text.read(data, config)
        case "slurmdb-jobs-json":
            return accounting_json.read(data, config)
        case "slurm-jobs-json":
            return controller_json.read(data, config)
        case "slurm-nodes-json":
            return nodes_json.read(data, config)
        case "scontrol-job":
            return scontrol.read_jobs(data, config)
        case "scontrol-node":
            return scontrol.read_nodes(data, config)
        case "sonar-json":
            return sonar_json.read(data, config)
        case _:
            assert_never(kind)
