"""`tenure ingest`: files into the book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from streams.runtime.embedded import Embedded, Summary
from streams.sources.config import SourceConfig
from streams.sources.detect import ALIASES
from streams.sources.files import mapping as mappings
from streams.sources.files.mapping import SHIPPED, FilesMapping
from streams.sources.reading import SKIPPED_SENTENCES, Unreadable
from tenure import wiring
from tenure.cli import exits, importing, options, output
from tenure.cli.desk import open_place
from tenure.cli.text import count, plural
from tenure.config import Settings

COLUMNS = {
    "Runs": ("first_statement",),
    "Further": ("further_statement", "node_again"),
    "Waited": ("never_started",),
    "Nodes": ("node",),
    "Events": ("event",),
    "Steps": ("step",),
    "No GPUs": ("job_without_gpus", "node_without_gpus", "gpus_not_recorded"),
}
"""Readings with a column of their own; the rest of those understood is counted under `Other`."""
MEANS: Mapping[str, str] = {
    "first_statement": "is the first to speak of a run",
    "further_statement": "says more of a run, or says it again",
    "never_started": "is a job that has not started, or never did",
    "node": "is the first to speak of a node",
    "node_again": "says more of a node, or says it again",
    "event": "is an event",
    **{str(kind): sentence for kind, sentence in SKIPPED_SENTENCES.items()},
}
KEPT = "cannot be used: it is kept with its bytes as a dead letter"
SHOWN_LETTERS = 3


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
        str | None, typer.Option("--source", metavar="NAME", help="[slurm.NAME] or [files.NAME] of the configuration.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="Whose records these are, without configuration.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count, write nothing.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Bring records of a scheduler, a CSV or events into the book. Doing it again changes nothing."""
    if format is not None and format not in ALIASES:
        raise exits.Stop(f"there is no format {format!r}: name one of {', '.join(sorted(ALIASES))}")
    how = _source(wiring.load_settings(config), mapping, source, cluster)
    files = _read(importing.inputs(paths), format, how)
    if dry_run:
        _tell(files, None, as_json=as_json)
        return
    with open_place(data, config) as (store, place, _), wiring.open_runtime(store, place) as runtime:
        summary = _write(runtime, files, how, cluster)
        _tell(files, summary, as_json=as_json)
    if summary.dead_letters or any(file.tally.dead_letters for file in files):
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


def _read(paths: list[Path], format: str | None, how: importing.Source | None) -> list[importing.File]:
    with output.bars() as bars:
        bar = bars.bar("Reading files", len(paths))
        files = []
        for path in paths:
            files.append(importing.read(path, format, how))
            bar.advance(1)
        return files


def _write(
    runtime: Embedded, files: list[importing.File], how: importing.Source | None, cluster: str | None
) -> Summary:
    """Dead letters first, so that a crash between loses no row; then the events."""
    now = wiring.clock()
    owner = cluster or (how.cluster if how is not None else "")
    for file in files:
        runtime.keep(importing.letters(file, owner, now))
    known = {name: ledger.book.state for name, ledger in runtime.processor.ledgers.items()}
    with output.bars() as bars:
        bar = bars.bar("Writing the book", importing.expected(files))
        summary = runtime.ingest(importing.ordered(files, how, known, now), bar.advance)
        bar.done()
    return summary


# ---------------------------------------------------------------- what is told


def _tell(files: list[importing.File], summary: Summary | None, *, as_json: bool) -> None:
    if as_json:
        output.emit({"files": [importing.json_of(f) for f in files], "book": _summary_json(summary)})
        return
    output.show(_table(files))
    _tell_rows(files)
    if summary is None:
        output.say("Nothing was written: this was a dry run.")
        return
    output.say(_summary_sentence(summary))


def _summary_json(summary: Summary | None) -> dict[str, object] | None:
    if summary is None:
        return None
    outcomes = {name: n for name, n in sorted(summary.outcomes.items()) if n}
    return {"records": summary.records, "samples": summary.samples, "outcomes": outcomes}


def _table(files: list[importing.File]) -> Table:
    """One file: a row per reading, explained. Several: a row per file, a column for each reading there is."""
    if len(files) == 1:
        (file,) = files
        made = output.table(f"{file.path.name}: {file.format}", ">Rows", "*Reading", "which means that the row")
        output.fill(made, [[count(n), name, MEANS.get(name, KEPT)] for name, n in file.tally.counts.most_common()])
        made.add_section()
        return output.fill(made, [[count(file.tally.rows), "all", ""]])
    total: Counter[str] = sum((file.tally.counts for file in files), Counter())
    groups = [name for name, readings in COLUMNS.items() if any(total[r] for r in readings)]
    made = output.table("Rows of the files", "~File", ">Rows", *(f">{g}" for g in groups), ">Other", ">Dead")
    output.fill(made, (_row(f.path.name, f.tally.counts, groups) for f in files))
    made.add_section()
    return output.fill(made, [_row(plural(len(files), "file"), total, groups)])


def _row(name: str, counts: Counter[str], groups: list[str]) -> list[str]:
    named = [sum(counts[r] for r in COLUMNS[group]) for group in groups]
    dead = sum(n for reading, n in counts.items() if reading.startswith("unreadable:"))
    rows = counts.total()
    return [name, *(count(n) for n in (rows, *named, rows - sum(named) - dead, dead))]


def _tell_rows(files: list[importing.File]) -> None:
    """Notes on what was read, and the first of each kind of dead letter."""
    for file in files:
        if file.is_log:
            output.say(f"{file.path.name} has ticks of its own and keeps its order.")
        for said, times in sorted(file.notes.items(), key=lambda item: -item[1]):
            output.say(f"{file.path.name}: {plural(times, 'row')}: {said}")
        for reason, rows in _by_reason(file).items():
            kept = plural(len(rows), "row")
            output.say(f"{file.path.name}: {kept} to the dead letters as {reason}", style="yellow")
            for row in rows[:SHOWN_LETTERS]:
                where = f"line {row.place.line}: " if row.place.line else ""
                output.say(f"    {where}{row.sentence}")


def _by_reason(file: importing.File) -> dict[str, list[Unreadable]]:
    found: dict[str, list[Unreadable]] = {}
    for row in file.unreadable:
        found.setdefault(row.reason, []).append(row)
    return found


def _summary_sentence(summary: Summary) -> str:
    outcomes = summary.outcomes
    refused = {name: n for name, n in outcomes.items() if name not in {"applied", "repeated"}}
    told = f"{plural(summary.records, 'record')} in the log: {count(outcomes['applied'])} applied"
    told += f", {count(outcomes['repeated'])} repeated"
    told += "".join(f", {count(n)} refused as {name}" for name, n in sorted(refused.items()))
    if refused:
        return f"{told}. See `tenure dead-letters list`."
    return f"{told}."
