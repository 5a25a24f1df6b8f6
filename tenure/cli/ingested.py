"""What an import came to, told to people and to programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from streams.runtime.embedded import Summary
from streams.sources.reading import SKIPPED_SENTENCES, Unreadable
from tenure.cli import importing, output
from tenure.cli.sending import Sent
from tenure.cli.text import count, gpu_hours, moment, plural

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


class Written(NamedTuple):
    """What came of the records: outcomes by name, how many were ticks, and up to where hours are closed by now."""

    summary: Summary
    ticks: int
    closed_until_s: dict[str, int]


def tell(
    files: list[importing.File], passed: Mapping[Path, str], written: Written | Sent | None, *, as_json: bool
) -> None:
    """What every row was, what was kept, and what the book made of it or where it was sent; neither for a dry run.

    `passed` are files of folders that were passed over.
    """
    if as_json:
        came_to = {"kafka": _sent_json(written)} if isinstance(written, Sent) else {"book": _json(written)}
        over = [{"path": str(path), "why": why} for path, why in passed.items()]
        output.emit({"files": [importing.json_of(f) for f in files], "passed_over": over, **came_to})
        return
    output.show(_table(files))
    if passed:
        output.say(f"{plural(len(passed), 'file')} passed over: {', '.join(path.name for path in passed)}.")
    _tell_rows(files)
    if written is None:
        output.say("Nothing was written: this was a dry run.")
        return
    for sentence in _of_sending(written) if isinstance(written, Sent) else _sentences(written):
        output.tell(sentence)


def early_sentence(early: importing.Early) -> str:
    """What an import is told before it is written, of runs that come too early for the book."""
    runs = f"{plural(early.runs, 'run')} of {early.cluster}, {gpu_hours(early.gpu_ms)} GPU-hours"
    return (
        f"{runs}, ended before its book opens at {moment(early.opens_s)} UTC: they are kept and shown, and nothing of "
        "them is booked. To book them, import all files, older ones first, into a new book"
    )


def _json(written: Written | None) -> dict[str, object] | None:
    if written is None:
        return None
    summary = written.summary
    return {
        "records": summary.records,
        "ticks": written.ticks,
        "samples": summary.samples,
        "outcomes": {name: n for name, n in sorted(summary.outcomes.items()) if n},
        "remarks": dict(sorted(summary.remarks.items())),
        "closed_until": {name: output.iso_s(at) for name, at in sorted(written.closed_until_s.items())},
    }


def _sent_json(sent: Sent) -> dict[str, object]:
    return {
        "address": sent.address,
        "topics": dict(sorted(sent.topics.items())),
        "ticks": sent.ticks,
        "seconds": round(sent.seconds, 3),
        "dead_letters": sent.letters,
        "dead_letters_kept": sent.letters_kept,
    }


def _of_sending(sent: Sent) -> Iterator[str]:
    events = sent.topics.total()
    rate = f", {count(round(events / sent.seconds))} a second" if sent.seconds > 0 else ""
    by_topic = ", ".join(f"{count(n)} to {name}" for name, n in sorted(sent.topics.items()))
    yield (
        f"{plural(events, 'event')} sent to Kafka at {sent.address}, {plural(sent.ticks, 'tick')} among them, "
        f"in {sent.seconds:.1f} s{rate}: {by_topic or 'none'}."
    )
    if sent.letters:
        yield f"{plural(sent.letters, 'row')} that no event could be made of: kept in {sent.letters_kept}."
    yield "They are in the book once a worker has folded them: `tenure worker`."


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


def _sentences(written: Written) -> Iterator[str]:
    outcomes = written.summary.outcomes
    refused = {name: n for name, n in sorted(outcomes.items()) if n and name not in {"applied", "repeated"}}
    told = f"{plural(written.summary.records, 'record')} in the log, {plural(written.ticks, 'tick')} among them: "
    told += f"{count(outcomes['applied'])} applied, {count(outcomes['repeated'])} repeated"
    told += "".join(f", {count(n)} refused as {name}" for name, n in refused.items())
    yield f"{told}. See `tenure dead-letters list`." if refused else f"{told}."
    if remarks := written.summary.remarks:
        named = ", ".join(f"{count(n)} {name}" for name, n in sorted(remarks.items()))
        yield f"Taken with a remark: {named}. `tenure verify` gives an example of each."
    closed = [f"{moment(at)} UTC ({name})" for name, at in sorted(written.closed_until_s.items()) if at > 0]
    if closed:
        yield f"Hours are closed until {', '.join(closed)}."
