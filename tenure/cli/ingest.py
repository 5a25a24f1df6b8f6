"""`tenure ingest`: files into the book."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from ledger.outcomes import BEFORE_OPENING
from ledger.state import State
from streams.runtime.embedded import Embedded
from streams.sources.config import SourceConfig
from streams.sources.detect import ALIASES
from streams.sources.files import mapping as mappings
from streams.sources.files.mapping import SHIPPED, FilesMapping
from tenure import wiring
from tenure.cli import exits, importing, options, output
from tenure.cli.desk import folding, open_place
from tenure.cli.ingested import Written, early_sentence, tell
from tenure.cli.sending import send
from tenure.config import Settings

KAFKA: Final = "kafka"


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of files; .gz too.")],
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="The files' format, if it is not to be detected.")
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="NAME|FILE", help=f"How a CSV is read: {', '.join(SHIPPED)}, or a TOML."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="The slurm.NAME or files.NAME of the configuration.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="Whose records these are, without configuration.")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="kafka", help="Send it to Kafka, where workers fold it; else fold it here.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count, write nothing.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Bring records of a scheduler, a CSV or events into the book. Doing it again changes nothing."""
    if format is not None and format not in ALIASES:
        raise exits.Stop(f"there is no format {format!r}: name one of {', '.join(sorted(ALIASES))}")
    if to not in {"", KAFKA}:
        raise exits.Stop(f"there is no place {to!r} to send it to: say --to {KAFKA}, or leave it out")
    settings = wiring.load_settings(config)
    how = _source(settings, mapping, source, cluster)
    files, passed = _read(paths, format, how)
    if dry_run:
        tell(files, passed, None, as_json=as_json)
        return
    owner = cluster or (how.cluster if how is not None else "")
    if to == KAFKA:
        tell(files, passed, send(files, how, owner, data, settings, _warn), as_json=as_json)
        if passed or any(file.tally.dead_letters for file in files):
            raise typer.Exit(exits.FINDINGS)
        return
    with open_place(data, config, create=True) as (store, place, _), folding(store, place) as runtime:
        written = _write(runtime, files, how, owner)
    tell(files, passed, written, as_json=as_json)
    letters = written.summary.dead_letters or any(file.tally.dead_letters for file in files)
    if passed or letters or written.summary.remarks[BEFORE_OPENING]:
        raise typer.Exit(exits.FINDINGS)


def _source(settings: Settings, mapped: str | None, named: str | None, cluster: str | None) -> importing.Source | None:
    """How the files are to be read; None where nothing says so, which events need not."""
    if mapped is not None:
        return _mapping(mapped, cluster)
    if named is not None:
        found = settings.slurm.get(named) or settings.files.get(named)
        if found is None:
            known = ", ".join(sorted([*settings.slurm, *settings.files])) or "none"
            raise exits.Stop(f"the configuration has no source {named!r}, only {known}: add [slurm.{named}]")
        return found if cluster is None else found.model_copy(update={"cluster": cluster})
    if cluster is not None:
        return settings.slurm.get(cluster) or SourceConfig(cluster=cluster)
    return next(iter(settings.slurm.values())) if len(settings.slurm) == 1 else None


def _mapping(named: str, cluster: str | None) -> FilesMapping:
    found = _mapping_file(Path(named)) if named.endswith(".toml") else mappings.shipped(named)
    return found if cluster is None else found.model_copy(update={"cluster": cluster})


def _mapping_file(path: Path) -> FilesMapping:
    try:
        return mappings.mapping(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as wrong:
        raise exits.Stop(f"{path} cannot be read ({wrong}): name a TOML file, or a mapping that is shipped") from wrong


def _read(
    paths: list[Path], format: str | None, how: importing.Source | None
) -> tuple[list[importing.File], dict[Path, str]]:
    with output.bars() as bars:
        bar = bars.bar("Reading files", len(importing.inputs(paths)))
        files, passed = importing.read_all(paths, format, how, lambda: bar.advance(1))
    for why in passed.values():
        output.note(f"Passed over: {why}", style="yellow")
    return files, passed


def _warn(files: list[importing.File], known: Mapping[str, State]) -> None:
    """Say what will not be booked, before it is written."""
    for early in importing.before_opening(files, known):
        output.note(early_sentence(early), style="yellow")


def _write(runtime: Embedded, files: list[importing.File], how: importing.Source | None, owner: str) -> Written:
    """Dead letters first, so that a crash between loses no row; then the events."""
    now = wiring.clock()
    for file in files:
        runtime.keep(importing.letters(file, owner, now))
    known = {name: ledger.book.state for name, ledger in runtime.processor.ledgers.items()}
    _warn(files, known)
    counter = importing.Ticks()
    with output.bars() as bars:
        bar = bars.bar("Writing the book", importing.expected(files))
        summary = runtime.ingest(counter.count(importing.ordered(files, how, known, now)), bar.advance)
        bar.done()
    closed = {name: ledger.book.state.closed_until_s for name, ledger in runtime.processor.ledgers.items() if name}
    return Written(summary, counter.ticks, closed)
