"""Dead letters by their names, and which of them were taken since."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, get_args

from ledger.archive import DeadLetter
from ledger.checkpoint import Position
from ledger.decisions import JUDGED, DecisionEvent
from ledger.store.protocol import Store
from tenure.cli import exits, output
from tenure.cli.importing import IMPORTED
from tenure.cli.queries import read
from tenure.cli.text import plural

ALL: Final = 10_000_000
MICRO: Final = 1_000_000
ID_LENGTH: Final = 8
AGAIN: Final = "/retry-"
"""Between the id of a decision and what makes a new one of it when it is sent again."""
DECISIONS: Final = [str(event.model_fields["type"].default) for event in get_args(DecisionEvent)]


def id_of(letter: DeadLetter) -> str:
    """A short name that stays the same: a hash of its place."""
    place = f"{letter.topic}\0{letter.partition}\0{letter.offset}\0{letter.index}"
    return blake2b(place.encode(), digest_size=ID_LENGTH // 2).hexdigest()


def where(letter: DeadLetter) -> str:
    """Its place in the log, with that in a batched record behind a dot, or in the file it came from."""
    if letter.topic.startswith(IMPORTED):
        return f"{letter.topic.removeprefix(IMPORTED)} at byte {letter.offset}"
    return at(Position(letter.topic, letter.partition, letter.offset, letter.index))


def at(place: Position) -> str:
    """A place in the log."""
    return f"{place.of} at {place.offset}{f'.{place.index}' if place.index else ''}"


def place_of(letter: DeadLetter) -> Position:
    """Its place in the log."""
    return Position(letter.topic, letter.partition, letter.offset, letter.index)


def taken(store: Store) -> dict[Position, Position]:
    """The letters whose event was taken after all, and where in the log: the same id came again, or a retry of it.

    What cannot be read has no id, and so is never known again.
    """
    judged = {"decisions": DECISIONS, "judged": sorted(JUDGED), "again": AGAIN}
    return {
        Position(str(topic), int(str(number)), int(str(offset)), int(str(index))): Position(*place)  # type: ignore[misc]
        for topic, number, offset, index, place in store.query(read("letters_taken"), judged).rows
    }


def found(store: Store, named: str) -> DeadLetter:
    """The letter with a name that begins so; stops where there is none or more than one."""
    letters = [letter for letter in store.dead_letters(None, ALL) if id_of(letter).startswith(named)]
    if not letters:
        raise exits.Stop(f"there is no dead letter {named!r}: `tenure dead-letters list` shows them", exits.NOTHING)
    if len(letters) > 1:
        raise exits.Stop(f"{named!r} begins {plural(len(letters), 'id')}: write more of it")
    return letters[0]


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
