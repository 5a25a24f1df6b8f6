"""`tenure dead-letters`: what could not be read or was refused, byte for byte, and another try."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Final

import typer

from ledger.checkpoint import Position
from ledger.units import instant
from tenure.cli import options, output, retries
from tenure.cli.desk import open_place
from tenure.cli.letters import ALL, MICRO, at, found, id_of, letter_json, place_of, taken, where
from tenure.cli.text import bytes_, plural, when

LIMIT: Final = 50

app = typer.Typer(no_args_is_help=True, help="List, show and retry what was not taken.")
Id = Annotated[str, typer.Argument(metavar="ID", help="As `tenure dead-letters list` shows it.")]


@app.command("list")
def list_(
    reason: Annotated[str, typer.Option("--reason", metavar="NAME", help="Only those of this reason.")] = "",
    open_: Annotated[bool, typer.Option("--open", help="Only those that were not taken since.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows at most.")] = LIMIT,
    cluster: options.Cluster = None,
    data: options.Data = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """List dead letters, the latest first."""
    with open_place(data, config) as (store, _, _):
        letters = [letter for letter in store.dead_letters(cluster, ALL) if not reason or letter.reason == reason]
        since = taken(store)
    done = sum(place_of(letter) in since for letter in letters)
    if open_:
        letters = [letter for letter in letters if place_of(letter) not in since]
    if as_json:
        shown = [
            letter_json(letter) | {"taken_at": _place_json(since.get(place_of(letter)))} for letter in letters[:limit]
        ]
        output.emit({"dead_letters": shown, "count": len(letters), "taken": done})
        return
    made = output.table("Dead letters", "*Id", "*Recorded", "Reason", "From", "What to do")
    for letter in letters[:limit]:
        recorded = when(instant(letter.recorded_us // MICRO))
        place = since.get(place_of(letter))
        what = f"nothing: it came again and was taken, {at(place)}" if place is not None else letter.sentence
        output.fill(made, [[id_of(letter), recorded, letter.reason, where(letter), what]])
    output.show(made)
    more = f", the latest {limit} are shown" if len(letters) > limit else ""
    more += f", {done} taken since" if done and not open_ else ""
    output.say(f"{plural(len(letters), 'dead letter')}{more}. Nothing of them is lost: `tenure dead-letters show ID`.")


def _place_json(place: Position | None) -> output.Report | None:
    return None if place is None else asdict(place)


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
        letter = found(store, id)
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


app.command()(retries.retry)
