"""`tenure dead-letters`: what could not be read or was refused, byte for byte, and another try."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer

from ledger.archive import DeadLetter
from ledger.decisions import JUDGED, DecisionEvent
from ledger.store.protocol import Store
from ledger.units import instant
from streams.intake import read
from tenure import wiring
from tenure.cli import exits, options, output
from tenure.cli.desk import open_place
from tenure.cli.importing import IMPORTED
from tenure.cli.text import bytes_, plural, when

LIMIT = 50
ALL = 10_000_000
MICRO = 1_000_000
ID_LENGTH = 8
DECIDED_BEFORE = ", which changed nothing: a decision came under its id before; give it a new one if it is another"

app = typer.Typer(no_args_is_help=True, help="List, show and retry what was not taken.")
Id = Annotated[str, typer.Argument(metavar="ID", help="As `tenure dead-letters list` shows it.")]


def id_of(letter: DeadLetter) -> str:
    """A short name that stays the same: a hash of its place."""
    place = f"{letter.topic}\0{letter.partition}\0{letter.offset}\0{letter.index}"
    return blake2b(place.encode(), digest_size=ID_LENGTH // 2).hexdigest()


def where(letter: DeadLetter) -> str:
    """Its place in the log, with that in a batched record behind a dot, or in the file it came from."""
    if letter.topic.startswith(IMPORTED):
        return f"{letter.topic.removeprefix(IMPORTED)} at byte {letter.offset}"
    within = f".{letter.index}" if letter.index else ""
    return f"{letter.topic}/{letter.partition} at {letter.offset}{within}"


@app.command("list")
def list_(
    reason: Annotated[str, typer.Option("--reason", metavar="NAME", help="Only those of this reason.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows at most.")] = LIMIT,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List dead letters, the latest first."""
    with open_place(data, config) as (store, _, _):
        found = [letter for letter in store.dead_letters(cluster, ALL) if not reason or letter.reason == reason]
    if as_json:
        output.emit({"dead_letters": [letter_json(letter) for letter in found[:limit]], "count": len(found)})
        return
    made = output.table("Dead letters", "*Id", "*Recorded", "Reason", "From", "What to do")
    for letter in found[:limit]:
        recorded = when(instant(letter.recorded_us // MICRO))
        output.fill(made, [[id_of(letter), recorded, letter.reason, where(letter), letter.sentence]])
    output.show(made)
    more = f", the latest {limit} are shown" if len(found) > limit else ""
    output.say(f"{plural(len(found), 'dead letter')}{more}. Nothing of them is lost: `tenure dead-letters show ID`.")


@app.command()
def show(
    id: Id,
    raw: Annotated[bool, typer.Option("--raw", help="Its bytes alone, exactly as received.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Show one dead letter with its bytes."""
    with open_place(data, config) as (store, _, _):
        letter = _found(store, id)
    if raw:
        sys.stdout.buffer.write(letter.raw)
        sys.stdout.buffer.flush()
        return
    if as_json:
        output.emit(letter_json(letter) | {"raw_hex": letter.raw.hex()})
        return
    output.say(f"{letter.reason}: {letter.sentence}", style="bold")
    output.say(f"from {where(letter)}, recorded {when(instant(letter.recorded_us // MICRO))} UTC")
    if letter.event_id:
        output.say(f"event {letter.event_id} of {letter.source}")
    output.say(f"{bytes_(len(letter.raw))}; bytes that are not UTF-8 are shown as \\x..:")
    output.say(letter.raw.decode("utf-8", "backslashreplace"))


@app.command()
def retry(
    id: Id,
    file: Annotated[
        Path | None, typer.Option("--with", metavar="FILE|-", help="The corrected event; - reads standard input.")
    ] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Correct it in $EDITOR.")] = False,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Send a dead letter again, corrected or as it is; the letter itself is kept."""
    with open_place(data, config) as (store, place, _):
        letter = _found(store, id)
        raw = _renamed(_corrected(letter, file, edit=edit), letter)
        passed_by = {"repeated"} if isinstance(read(raw), DecisionEvent) else set()
        with wiring.open_runtime(store, place) as runtime:
            outcomes = {name: n for name, n in runtime.ingest([raw]).outcomes.items() if n}
    taken = bool(outcomes.keys() & ({"applied", "repeated"} - passed_by))
    if as_json:
        output.emit({"id": id_of(letter), "outcomes": outcomes, "taken": taken})
    else:
        told = ", ".join(outcomes)
        why = "" if taken else DECIDED_BEFORE if passed_by & outcomes.keys() else "; it is a new dead letter"
        output.say(f"{id_of(letter)}: {told}{why}.")
    if not taken:
        raise typer.Exit(exits.FINDINGS)


def _corrected(letter: DeadLetter, file: Path | None, *, edit: bool) -> bytes:
    """The bytes to send: from a file, from an editor, or as they are."""
    if file is not None:
        return _read(file).strip()
    if letter.topic.startswith(IMPORTED) and letter.source != "events":
        raise exits.Stop(
            f"this is a row of {letter.topic.removeprefix(IMPORTED)} and no event: correct it in the file and "
            "`tenure ingest` the file again (what is taken already changes nothing), or give an event with --with"
        )
    return _edited(letter.raw).strip() if edit else letter.raw


def _renamed(raw: bytes, letter: DeadLetter) -> bytes:
    """A decision that was judged under a new id, recorded anew: the book knows it by the old one, and passes it by."""
    event = read(raw)
    if not isinstance(event, DecisionEvent) or event.id != letter.event_id or letter.reason not in JUDGED:
        return raw
    new = f"{event.id}/{wiring.new_id()[:ID_LENGTH]}"
    return event.model_copy(update={"id": new, "recordedtime": None}).model_dump_json(exclude_none=True).encode()


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


def _found(store: Store, id: str) -> DeadLetter:
    found = [letter for letter in store.dead_letters(None, ALL) if id_of(letter).startswith(id)]
    if not found:
        raise exits.Stop(f"there is no dead letter {id!r}: `tenure dead-letters list` shows them", exits.NOTHING)
    if len(found) > 1:
        raise exits.Stop(f"{id!r} begins {plural(len(found), 'id')}: write more of it")
    return found[0]


def letter_json(letter: DeadLetter) -> output.Report:
    """A letter for programs; `raw_text` shows bytes that are not UTF-8 as escapes."""
    return {
        "id": id_of(letter),
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "index": letter.index,
        "cluster": letter.cluster,
        "reason": letter.reason,
        "sentence": letter.sentence,
        "recorded_at": output.iso_s(letter.recorded_us // MICRO),
        "source": letter.source,
        "event_id": letter.event_id,
        "raw_text": letter.raw.decode("utf-8", "backslashreplace"),
        "raw_bytes": len(letter.raw),
    }
