"""Tenure's own events out of JSON lines and arrays: each has a reading, and a broken one stops no other."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import json

import pytest

from streams.sources.reading import Unreadable, cluster_events_of, events_of, name_of
from streams.sources.registry import read


def event(node="gn1", **given):
    return {
        "specversion": "1.0",
        "id": f"e-{node}",
        "source": "test",
        "type": "tenure.node.removed.v1",
        "time": "2026-01-01T00:00:00Z",
        "data": {"cluster": "c", "node": node},
    } | given


def of(data):
    return list(read("events", data, None))


def line(value):
    return json.dumps(value).encode() + b"\n"


def test_lines_batches_and_blanks():
    found = of(line(event("a")) + b"\n" + line([event("b"), event("c")]) + line(event("d")))
    assert [name_of(r) for r in found] == ["event", "blank", "event", "event", "event"]
    assert [e.data.node for e in events_of(found)] == ["a", "b", "c", "d"]
    assert [(r.place.line, r.place.index) for r in found] == [(1, 0), (2, 0), (3, 0), (3, 1), (4, 0)]


def test_one_array_over_several_lines():
    found = of(json.dumps([event("a"), event("b")], indent=2).encode())
    assert [e.data.node for e in events_of(found)] == ["a", "b"]


def test_lines_that_are_batches_are_no_array_over_several_lines():
    found = of(line([event("a")]) + line([event("b")]))
    assert [e.data.node for e in events_of(found)] == ["a", "b"]


@pytest.mark.parametrize(
    ("raw", "reason", "says"),
    [
        (b"{broken", "not_json", "not JSON"),
        (b'{"a": "\xff"}', "not_utf8", "byte 7"),
        (b'{"type": "tenure.node.vanished.v1"}', "not_an_event", "tenure.node.vanished.v1 is not accepted"),
        (b"{}", "not_an_event", "docs/events.md"),
        (b"7", "not_an_event", "docs/events.md"),
        (line(event(data={"cluster": "c"})).strip(), "not_an_event", "data.node: Field required"),
        (line(event(time="2026-01-01T00:00:00")).strip(), "not_an_event", "time"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(raw, reason, says):
    before, bad, after = of(line(event("a")) + raw + b"\n" + line(event("b")))
    assert isinstance(bad, Unreadable)
    assert (bad.reason, bad.raw) == (reason, raw)
    assert says in bad.sentence
    assert [name_of(before), name_of(after)] == ["event", "event"]


def test_a_wrong_event_in_a_batch_takes_no_other_with_it():
    good, bad, also_good = of(line([event("a"), {"type": "x"}, event("b")]))
    assert [name_of(r) for r in (good, bad, also_good)] == ["event", "unreadable:not_an_event", "event"]
    assert bad.place.index == 1


def test_a_file_cut_in_the_middle_of_an_event_says_so():
    found = of(line(event("a")) + line(event("b"))[:-9])
    assert [name_of(r) for r in found] == ["event", "unreadable:truncated"]


def test_events_of_the_directory_do_not_belong_to_a_cluster():
    opened = event(type="tenure.account.opened.v1", data={"account": "lab"})
    found = of(line(opened) + line(event("a")))
    assert len(list(events_of(found))) == 2
    assert [e.type for e in cluster_events_of(found)] == ["tenure.node.removed.v1"]
