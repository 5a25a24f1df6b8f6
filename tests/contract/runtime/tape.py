"""A log in Kafka without Kafka: records at offsets, delivered in any portions, some twice, some left out at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

from ledger.checkpoint import Partition
from ledger.units import epoch_us
from streams.batches import join
from streams.intake import read
from streams.runtime.owner import Message, Owner
from streams.topics import DIRECTORY, EVENTS, route
from tests.contract.runtime.feeds import NOW
from tests.oracle.logs import Dice

Tape = list[Message]


def tapes(lines: Sequence[bytes], dice: Dice, *, partitions: int, batch: int) -> dict[Partition, Tape]:
    """The events as a producer would send them: by topic and key, up to `batch` to a record, in order within a key."""
    found: dict[Partition, Tape] = {}
    for line in lines:
        topic, key = route(read(line))
        assert topic in {EVENTS, DIRECTORY}
        number = crc32(key.encode()) % partitions if topic is EVENTS else 0
        tape = found.setdefault(Partition(topic.name, number), [])
        open_ = tape[-1].value if tape and key else b""
        if open_.startswith(b"[") and open_.count(b"\n") < dice.between(1, batch):
            tape[-1] = tape[-1]._replace(value=open_[:-1] + b",\n" + line + b"]")
        else:
            value = join([line]) if key and batch > 1 else line
            tape.append(Message(len(tape), epoch_us(NOW), value))
    return found


def portions(tape: Tape, begin: int, dice: Dice, most: int) -> Iterator[Tape]:
    """From an offset on, as a broker and a client that lose their places deliver: with repeats and gaps."""
    at = begin
    while at < len(tape):
        size = dice.between(1, most)
        first = max(0, at - dice.between(0, 3)) if dice.between(0, 3) == 0 else at
        skipped = min(dice.between(1, 3), len(tape) - at - 1) if dice.between(0, 5) == 0 else 0
        yield tape[first + skipped if skipped else first : at + size]
        at += 0 if skipped else size


def play(owner: Owner, tape: Tape, dice: Dice, *, most: int, saves: int = 4) -> None:
    """Deliver the whole tape to an owner, reading again from where it asks; checkpoint now and then, and at the end."""
    while owner.next_offset < len(tape):
        for portion in portions(tape, owner.next_offset, dice, most):
            again = owner.take(portion)
            if dice.between(0, saves) == 0:
                owner.save()
            if again is not None:
                assert again == owner.next_offset
                break
    owner.save()
