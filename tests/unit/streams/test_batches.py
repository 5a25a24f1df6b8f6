"""Several events in one record, each byte for byte as it was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.batches import join, split

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
INDENTS = st.sampled_from([None, 1, "\t"])


@given(st.lists(st.tuples(VALUES, INDENTS), min_size=1, max_size=6))
def test_what_is_joined_is_split_again(values: list[tuple[object, int | str | None]]):
    events = [
        json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
        for value, indent in values
    ]
    if all(_is_utf8(event) for event in events):
        assert split(join(events)) == events


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from(["", " ", "\n  ", "\t\r\n"]))
def test_white_space_between_events_belongs_to_none(values: list[object], space: str):
    texts = [json.dumps(value) for value in values]
    record = f"{space}[{space}{f'{space},{space}'.join(texts)}{space}]{space}".encode()
    assert split(record) == [text.encode() for text in texts]


@given(st.binary(max_size=60))
@example(b"")
@example(b"[")
@example(b"[1")
@example(b"[1,")
@example(b"[1,]")
@example(b"[,1]")
@example(b"[1 2]")
@example(b"[1]]")
@example(b"[1][2]")
@example(b"[]")
@example(b"[ ]")
@example(b"\xa0[1]")
@example(b"[\xff]")
@example(b"[NaN")
def test_no_byte_is_lost_of_what_is_no_array(raw: bytes):
    parts = split(raw)
    assert parts
    try:
        value = json.loads(raw.decode())
    except (ValueError, RecursionError):
        assert parts == [raw]
    else:
        expected = value if isinstance(value, list) and value else None
        assert ([json.loads(part) for part in parts] == expected) if expected is not None else (parts == [raw])


def test_an_array_nested_too_deep_stays_one_record():
    raw = b"[" * 100_000
    assert split(raw) == [raw]


def test_one_event_is_itself():
    assert split(b'{"a": [1, 2]}') == [b'{"a": [1, 2]}']


@pytest.mark.parametrize("number", [1, 2_000])
def test_long_batches(number: int):
    events = [json.dumps({"n": n, "text": "x" * 50}).encode() for n in range(number)]
    assert split(join(events)) == events
