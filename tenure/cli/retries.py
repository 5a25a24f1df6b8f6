"""`tenure dead-letters retry`: what was not taken, sent again."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from ledger.archive import DeadLetter
from ledger.checkpoint import by_cluster
from ledger.decisions import JUDGED, DecisionEvent, judge
from ledger.facts import decode
from ledger.outcomes import Refused
from ledger.state import State
from ledger.store.protocol import Store
from streams.intake import cluster_of, read
from tenure import wiring
from tenure.cli import exits, options, output, queries
from tenure.cli.desk import open_place
from tenure.cli.importing import IMPORTED
from tenure.cli.letters import AGAIN, ALL, ID_LENGTH, found, id_of, place_of, taken
from tenure.cli.pens import PASSED, SENT, Outcome, open_pen
from tenure.cli.text import count, plural

NOT_SENT: Final = "not sent"
DRY: Final = "to be sent"
DECIDED_BEFORE: Final = (
    "changed nothing: a decision came under its id before; give it a new one if it is another decision"
)


@dataclass(frozen=True, slots=True)
class Try:
    """A letter with the bytes to send, None for none, and what came of it. `taken` says that it is in the book now."""

    letter: DeadLetter
    raw: bytes | None
    outcome: Outcome

    @property
    def taken(self) -> bool:
        return self.outcome.name in PASSED and not self.outcome.sentence


def retry(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="As `tenure dead-letters list` shows them.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="NAME", help="All of this reason that are open.")] = "",
    every: Annotated[bool, typer.Option("--all", help="All that are open.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, send nothing.")] = False,
    file: Annotated[
        Path | None, typer.Option("--with", metavar="FILE|-", help="The corrected event; - reads standard input.")
    ] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Correct it in $EDITOR.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Send dead letters again, as they are or one of them corrected; the letters themselves are kept."""
    if [bool(ids), bool(reason), every].count(True) != 1:
        raise exits.Stop("say which: one or more ids, or --reason NAME, or --all")
    if (file is not None or edit) and len(ids or []) != 1:
        raise exits.Stop("--with and --edit correct one letter: give its id")
    with open_place(data, config) as (store, place, settings):
        if ids:
            letters = [found(store, name) for name in dict.fromkeys(ids)]
            tries = [_try(letter, _corrected(letter, file, edit=edit)) for letter in letters]
        else:
            tries = [_try(letter, letter.raw) for letter in _open(store, reason)]
        if dry_run or not ids:
            tries = list(_without_hope(tries, store))
        if dry_run:
            tries = [replace(t, outcome=Outcome(DRY)) if t.raw is not None else t for t in tries]
        elif any(t.raw is not None for t in tries):
            with open_pen(store, place, settings) as pen:
                told = iter(pen.write([t.raw for t in tries if t.raw is not None]))
            tries = [_judged(replace(t, outcome=next(told)), store) if t.raw is not None else t for t in tries]
    _tell(tries, as_json=as_json)
    if not dry_run and not all(t.taken for t in tries):
        raise typer.Exit(exits.FINDINGS)


# ---------------------------------------------------------------- what to send


def _open(store: Store, reason: str) -> Iterator[DeadLetter]:
    """Letters that were not taken since, the oldest first; of those that speak of one event, the latest."""
    done = taken(store)
    latest: dict[tuple[str, str] | bytes, DeadLetter] = {}
    for letter in reversed(store.dead_letters(None, ALL)):
        if place_of(letter) not in done and (not reason or letter.reason == reason):
            key = (letter.source, letter.event_id.partition(AGAIN)[0]) if letter.event_id else letter.raw
            latest[key] = letter
    yield from latest.values()


def _try(letter: DeadLetter, raw: bytes | None) -> Try:
    """What to send; nothing of a row that is no event and that nobody has corrected."""
    if raw is None or (raw == letter.raw and letter.topic.startswith(IMPORTED) and letter.source != "events"):
        name = letter.topic.removeprefix(IMPORTED)
        told = (
            f"it is a row of {name} and no event: correct it in the file and `tenure ingest` the file again (what is "
            "taken already changes nothing), or give an event with --with"
        )
        return Try(letter, None, Outcome(NOT_SENT, told))
    return Try(letter, _anew(raw, letter), Outcome(DRY))


def _anew(raw: bytes, letter: DeadLetter) -> bytes:
    """The event, to be recorded anew. A decision that was judged goes under a new id: by the old one the book knows
    it, and passes it by.
    """
    event = read(raw)
    if isinstance(event, Refused):
        return raw
    known = isinstance(event, DecisionEvent) and event.id == letter.event_id and letter.reason in JUDGED
    if not known and event.recordedtime is None:
        return raw
    again = f"{event.id.partition(AGAIN)[0]}{AGAIN}{wiring.new_id()[:ID_LENGTH]}" if known else event.id
    return event.model_copy(update={"id": again, "recordedtime": None}).model_dump_json(exclude_none=True).encode()


def _without_hope(tries: list[Try], store: Store) -> Iterator[Try]:
    """Leave out what is sure to be refused again: it would only become another letter."""
    checkpoints = by_cluster(store.checkpoints(store.live_generation()))
    states: dict[str, State] = {}
    for it in tries:
        event = read(it.raw) if it.raw is not None else None
        refused = event if isinstance(event, Refused) else None
        if isinstance(event, DecisionEvent):
            cluster = cluster_of(event)
            if cluster not in states:
                states[cluster] = decode(checkpoints[cluster].facts) if cluster in checkpoints else State(cluster)
            refused = judge(states[cluster], event)
        yield it if refused is None else Try(it.letter, None, Outcome(NOT_SENT, f"{refused.name}: {refused.sentence}"))


def _judged(it: Try, store: Store) -> Try:
    """What came of it, but for a decision whose id the book knew: that was passed by, and changed nothing."""
    event = read(it.raw) if it.raw is not None else None
    if not isinstance(event, DecisionEvent) or it.outcome.name not in PASSED:
        return it
    passed_by = it.outcome.name == "repeated"
    if it.outcome.name == "taken":
        asked = {"cluster": cluster_of(event), "source": event.source, "id": event.id, "judged": sorted(JUDGED)}
        passed_by = int(str(store.query(queries.read("times_judged"), asked).rows[0][0])) > 1
    return replace(it, outcome=Outcome("repeated", DECIDED_BEFORE)) if passed_by else it


def _corrected(letter: DeadLetter, file: Path | None, *, edit: bool) -> bytes:
    """The bytes to send: from a file, from an editor, or as they are."""
    if file is not None:
        return _read(file).strip()
    return _edited(letter.raw).strip() if edit else letter.raw


def _read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as wrong:
        raise exits.Stop(f"{file} cannot be read ({wrong.strerror}): name the file with the corrected event") from wrong


def _edited(raw: bytes) -> bytes:
    """The bytes after a visit to the editor."""
    with tempfile.NamedTemporaryFile(suffix=".json") as draft:
        draft.write(raw)
        draft.flush()
        command = [*wiring.editor().split(), draft.name]
        if subprocess.run(command, check=False).returncode:
            raise exits.Stop(f"{command[0]} ended with an error: nothing was sent")
        return Path(draft.name).read_bytes()


# ---------------------------------------------------------------- what came of it


def _tell(tries: list[Try], *, as_json: bool) -> None:
    done = sum(t.taken for t in tries)
    if as_json:
        output.emit({"retried": [_json(t) for t in tries], "taken": done})
        return
    if not tries:
        output.say("No dead letter is open: nothing was sent.")
        return
    made = output.table("Dead letters sent again", "*Id", "Was", "*Now", "What came of it")
    for it in tries:
        output.fill(made, [[id_of(it.letter), it.letter.reason, it.outcome.name, _sentence(it)]])
    output.show(made)
    output.say(f"{count(done)} of {plural(len(tries), 'letter')} taken. The letters are kept, as they were.")


def _sentence(it: Try) -> str:
    if it.raw is not None and it.outcome.name != DRY and it.outcome.refused:
        told = f": {it.outcome.sentence}" if it.outcome.sentence else ""
        return f"it is a new dead letter{told}"
    if it.outcome.name == SENT:
        return "not yet folded: `tenure dead-letters list` says whether it was taken"
    return it.outcome.sentence


def _json(it: Try) -> output.Report:
    return {
        "id": id_of(it.letter),
        "was": it.letter.reason,
        "now": it.outcome.name,
        "sentence": it.outcome.sentence,
        "sent": it.raw is not None and it.outcome.name != DRY,
        "taken": it.taken,
    }
