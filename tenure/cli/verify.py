"""`tenure verify`: can the book be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ledger.store.clickhouse import ClickHouse
from ledger.store.protocol import Store
from streams.verify import Finding, Report
from streams.verify import verify as check
from tenure.cli import exits, options, output
from tenure.cli.brokers import fed
from tenure.cli.desk import Desk, reading, unfolded
from tenure.cli.queries import read
from tenure.cli.text import count, plural


def verify(
    anchor: Annotated[
        Path | None, typer.Option("--anchor", metavar="FILE", help="Write the last hashes there, to keep elsewhere.")
    ] = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Check the stored book against itself and against its log, folded anew. 0: clean; 1: findings."""
    with reading(data, config) as desk:
        events = sum(c.events for c in desk.checkpoints.values())
        found = _going_on(desk.store, events) if fed(desk.store) else verified(desk.store, events)
        watermarks, caption = desk.watermarks(), desk.as_of()
        if anchor is not None:
            _write_anchor(anchor, found, desk)
    if as_json:
        output.emit({"watermarks": watermarks, **report_json(found)})
    else:
        tell(found)
        output.tell(caption)
    if found.errors:
        raise typer.Exit(exits.FINDINGS)


def _going_on(store: ClickHouse, events: int) -> Report:
    """The check of a book that workers write: what is between its log and its checkpoints is no error of it."""
    before, behind = _stand(store), unfolded(store)
    found = verified(store, events)
    if found.errors and (behind or unfolded(store) or _stand(store) != before):
        output.note("Workers went on while this looked: it looks again, at what the checkpoints speak of.")
        found = verified(store, events, going_on=True)
    return found


def _stand(store: ClickHouse) -> object:
    """How far the book is checkpointed."""
    return store.query(read("folded")).rows


def verified(store: Store, events: int, *, going_on: bool = False) -> Report:
    """The check, with its progress."""
    with output.bars() as bars:
        bar = bars.bar("Folding the log anew", events)
        found = check(store, bar.advance, going_on=going_on)
        bar.done()
    return found


def tell(found: Report) -> None:
    """One line if all is well, then every finding with its examples."""
    events = plural(found.events, "event")
    if found.errors:
        output.say(f"{plural(len(found.errors), 'error')} in a book of {events}.", style="bold red")
    else:
        output.say(f"The book is right: every sum, and {events} folded anew come to the same rows.", style="green")
    for finding in (*found.errors, *found.warnings):
        output.wrapped(f"{finding.severity} {finding.name}: ", finding.sentence)
        for example in finding.examples:
            output.wrapped("    ", example)


def report_json(found: Report) -> output.Report:
    """The findings for programs."""
    return {
        "clean": not found.errors,
        "events": found.events,
        "errors": [_finding(f) for f in found.errors],
        "warnings": [_finding(f) for f in found.warnings],
        "anchor": {name: {"log_hash": log, "facts_hash": facts} for name, (log, facts) in found.anchor.items()},
    }


def _finding(finding: Finding) -> output.Report:
    return {
        "name": finding.name,
        "count": finding.count,
        "sentence": finding.sentence,
        "examples": list(finding.examples),
    }


def summary(found: Report) -> str:
    """The findings in one sentence."""
    if found.errors:
        return f"{plural(len(found.errors), 'error')}: run `tenure verify`"
    warned = ", ".join(f"{count(f.count)} {f.name}" for f in found.warnings)
    return f"clean{f', with warnings: {warned}' if warned else ''}"


def _write_anchor(path: Path, found: Report, desk: Desk) -> None:
    lines = [f"{name or '-'} {log} {facts}\n" for name, (log, facts) in sorted(found.anchor.items())]
    try:
        path.write_text("".join(lines), "utf-8")
    except OSError as wrong:
        raise exits.Stop(f"{path} cannot be written ({wrong.strerror}): name another file") from wrong
    output.note(f"Wrote the last hashes of {desk.place} to {path}: keep it where the book's owner cannot write.")
