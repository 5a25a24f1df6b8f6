"""A dead letter comes through its topic byte for byte, however large it is."""

import json

import pytest

from ledger.archive import DeadLetter
from streams.letters import PART_BYTES, letter, records
from streams.topics import LARGEST_RECORD_BYTES


def dead(raw: bytes) -> DeadLetter:
    return DeadLetter("tenure.events", 3, 17, 2, "hal", "not_utf8", "write it as UTF-8: \udcff", raw, 5, "src", "id")


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe{", bytes(range(256)) * (3 * PART_BYTES // 256) + b"x"])
def test_all_parts_of_a_letter_are_the_letter(raw: bytes):
    parts = list(records(dead(raw)))
    assert letter(parts) == dead(raw)
    assert len(parts) == max(1, -(-len(raw) // PART_BYTES))
    assert max(map(len, parts)) < LARGEST_RECORD_BYTES


def test_a_letter_says_where_it_stands_and_why():
    (part,) = records(dead(b"x"))
    told = json.loads(part)
    assert (told["topic"], told["partition"], told["offset"], told["index"]) == ("tenure.events", 3, 17, 2)
    assert (told["reason"], told["cluster"], told["part"], told["parts"]) == ("not_utf8", "hal", 0, 1)
    assert told["raw_base64"] == "eA=="
