"""Whatever bytes come in, they become an event or a named reason that says what to do, and are kept as they were."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ledger.checkpoint import Partition, Position
from ledger.events import ClusterEvent, DirectoryEvent, GpuSampled, NodeRemoved
from ledger.outcomes import Refused
from ledger.units import DAY_S, epoch_us
from streams.bounds import INSTANTS, INTEGERS, out_of_bounds
from streams.intake import SHOWN_ERRORS, dead_letter, from_archive, read, record
from streams.processor import Processor
from tests.contract.runtime.feeds import NOW, told
from tests.oracle.logs import logs

LOG = Partition("tenure.events", 0)
NOW_US = epoch_us(NOW)
NODE = {"cluster": "c", "node": "n1", "gpu_type": "h100", "gpus_milli": 8000, "state": "available"}
JOB = {"cluster": "c", "job": "7", "user": "ann", "gpus_milli": 1000}
PLACED = [{"node": "n1", "gpus_milli": 1000}]
RUN = {
    "cluster": "c",
    "job": "7",
    "attempt": "1",
    "user": "ann",
    "started_at": "2026-03-02T00:00:00Z",
    "placements": PLACED,
}
GPU = {"index": 0, "utilization_pct": 50}
SAMPLE = {
    "cluster": "c",
    "node": "n1",
    "since": "2026-03-02T00:00:00Z",
    "until": "2026-03-02T00:00:30Z",
    "gpus": [GPU],
}
LAST = "9999-12-31T23:59:59-14:00"
"""In UTC, the year 10000."""
FIRST = "0001-01-01T00:00:00+14:00"
"""In UTC, the year 0."""


class Case(NamedTuple):
    """Bytes, the name of the reason, and what its sentence must say: what is wrong, and what to do."""

    what: str
    raw: bytes
    name: str
    wrong: str
    to_do: str


def node(**other: Any) -> bytes:
    return told("node.observed", "e1", {**NODE, **other})


def without(data: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != field}


def run(**other: Any) -> bytes:
    return told("run.observed", "e1", {**RUN, **other})


CASES = (
    Case("a line cut off", node()[:60], "not_json", "Unterminated string", "cut off"),
    Case("a line edited by hand", node().replace(b'"c",', b'"c";'), "not_json", "at character", "edited by hand"),
    Case("nothing", b"", "not_json", "at character 0", "cut off"),
    Case("two events in one", node() + b"\n" + node(), "not_json", "Extra data", "cut off or edited"),
    Case("a mark of byte order", b"\xef\xbb\xbf" + node(), "not_json", "BOM", "utf-8-sig"),
    Case("nested without end", b"[" * 100_000, "not_json", "nested too deep", "look at what its source has written"),
    Case("a number without end", b'{"n":' + b"1" * 5_000 + b"}", "not_json", "too long", "look at what its source"),
    Case("Latin-1", node(reason="x").replace(b'"x"', b'"\xe9"'), "not_utf8", "byte 2", "write the event as UTF-8"),
    Case("no text at all", b"\x00\xff\x80", "not_utf8", "byte 1 is not UTF-8", "write the event as UTF-8"),
    Case("half a surrogate", node(reason="\ud800"), "not_an_event", "end of hex escape", "docs/events.md"),
    Case("a text", b'"node"', "not_an_event", "should be an object", "docs/events.md"),
    Case("a batch", b"[" + node() + b"]", "not_an_event", "should be an object", "docs/events.md"),
    Case("null", b"null", "not_an_event", "should be an object", "docs/events.md"),
    Case("a type nobody knows", told("node.lost", "e1", NODE), "not_an_event", "'tenure.node.lost.v1'", "events.md"),
    Case("no type", b'{"id":"e1","data":{}}', "not_an_event", "Unable to extract tag", "docs/events.md"),
    Case("no id", told("node.observed", "", NODE), "not_an_event", "id: ", "docs/events.md"),
    Case(
        "a field left out",
        told("node.observed", "e1", without(NODE, "state")),
        "not_an_event",
        "data.state: Field required",
        "docs/events.md",
    ),
    Case(
        "GPUs where milli-GPUs are asked for",
        told("node.observed", "e1", {**without(NODE, "gpus_milli"), "gpus": 8}),
        "not_an_event",
        "data.gpus: Extra inputs",
        "data.gpus_milli: Field required",
    ),
    Case(
        "hours where seconds are asked for",
        told("job.submitted", "e1", {**JOB, "min_runtime_s": "8h"}),
        "not_an_event",
        "data.min_runtime_s: Input should be a valid integer",
        "docs/events.md",
    ),
    Case("a field too many", node(rack="r1"), "not_an_event", "data.rack: Extra inputs", "docs/events.md"),
    Case("a state nobody knows", node(state="fine"), "not_an_event", "'available', 'draining'", "docs/events.md"),
    Case("GPUs below none", node(gpus_milli=-1), "not_an_event", "greater than or equal to 0", "docs/events.md"),
    Case(
        "a time without a zone",
        told("node.observed", "e1", NODE, time="2026-03-02T00:00:00"),
        "not_an_event",
        "time: Input should have timezone info",
        "docs/events.md",
    ),
    Case(
        "an end before the start",
        run(ended_at="2026-03-01T23:59:59Z"),
        "end_before_start",
        "ends before it starts",
        "correct the record at its source and send it again",
    ),
    Case(
        "a sample that ends first",
        told("gpu.sampled", "e1", {**SAMPLE, "until": "2026-03-01T00:00:00Z"}),
        "not_an_event",
        "must end after it starts",
        "swap `since` and `until`",
    ),
    Case(
        "an exit code of 64 bits", run(exit_code=1 << 40), "not_an_event", "exit_code is 1099511627776", "leave it out"
    ),
    Case("a priority of 70 bits", run(priority=1 << 69), "not_an_event", "priority is of 70 bits", "correct it at its"),
    Case(
        "a GPU below none",
        run(placements=[{"node": "n1", "gpus_milli": 1000, "gpu_indices": [-1]}]),
        "not_an_event",
        "gpu_indices is -1, out of 0 to 65535",
        "leave it out",
    ),
    Case(
        "an XID beyond all",
        told("gpu.sampled", "e1", {**SAMPLE, "gpus": [{**GPU, "xid": 1 << 31}]}),
        "not_an_event",
        "data.gpus.xid is 2147483648",
        "leave it out",
    ),
    Case(
        "a sample of a month",
        told("gpu.sampled", "e1", {**SAMPLE, "until": "2026-04-01T00:00:00Z"}),
        "not_an_event",
        f"is 2592000, out of 0 to {DAY_S}",
        "correct it at its source",
    ),
    Case("a run of no known start", run(started_at=FIRST), "not_an_event", "no UTC calendar has", "leave out"),
    Case(
        "asked for before time", run(submitted_at="0001-01-01T00:00:00Z"), "clock_not_set", "before 1970", "leave out"
    ),
    Case(
        "after all time", told("node.observed", "e1", NODE, time=LAST), "not_an_event", "no UTC calendar", "leave out"
    ),
    Case(
        "recorded before time",
        told("node.observed", "e1", NODE, recordedtime=FIRST),
        "not_an_event",
        "recordedtime is 0001-01-01",
        "leave out",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_what_cannot_be_taken_is_named_says_what_to_do_and_keeps_its_bytes(case: Case):
    taken = record(case.raw, LOG, 41, NOW_US)
    assert isinstance(taken.event, Refused), taken.event
    assert taken.event.name == case.name
    assert case.wrong in taken.event.sentence
    assert case.to_do in taken.event.sentence
    letter = dead_letter(taken.archived, taken.event)
    assert letter.raw == case.raw
    assert (letter.topic, letter.partition, letter.offset, letter.index) == (*LOG, 41, 0)
    assert (letter.reason, letter.sentence, letter.recorded_us) == (case.name, taken.event.sentence, NOW_US)
    assert len(letter.sentence) < 1_000


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_what_cannot_be_taken_stops_neither_the_fold_nor_a_restart(case: Case):
    batch = [record(raw, LOG, n, NOW_US) for n, raw in enumerate((node(), case.raw, node(state="down")))]
    for again in (batch, [from_archive(r.archived) for r in batch]):
        processor = Processor()
        folded = processor.fold(again)
        assert folded.outcomes == {"applied": 2, case.name: 1}
        assert [letter.offset for letter in folded.dead_letters] == [1]
        assert processor.checkpoints(Position(*LOG, 2, 0))


TAKEN = (
    ("eligible in the year 9999", told("job.submitted", "e1", {**JOB, "eligible_from": "9999-12-31T23:59:59Z"})),
    ("an exit code of 32 bits", run(exit_code=-(1 << 31))),
    ("a priority of 64 bits", run(priority=(1 << 63) - 1)),
    ("submitted when clocks began", run(submitted_at="1970-01-01T00:00:00Z")),
    ("a sample of a day", told("gpu.sampled", "e1", {**SAMPLE, "until": "2026-03-03T00:00:00Z"})),
    ("an attribute the envelope does not know", told("node.removed", "e1", {"cluster": "c", "node": "n"}, traceid="x")),
)


@pytest.mark.parametrize("raw", [raw for _, raw in TAKEN], ids=[what for what, _ in TAKEN])
def test_what_is_odd_but_can_be_kept_is_taken(raw: bytes):
    assert not isinstance(read(raw), Refused)


def test_a_sentence_tells_a_few_faults_and_counts_the_rest():
    refused = read(told("node.observed", "e1", dict.fromkeys("abcdef", 1)))
    assert isinstance(refused, Refused)
    assert refused.sentence.count("; ") == SHOWN_ERRORS + 1
    assert "; and 8 more; docs/events.md has every field" in refused.sentence


# ---------------------------------------------------------------------- when it was recorded


def recorded_us(**envelope: str) -> int:
    return record(told("node.observed", "e1", NODE, **envelope), LOG, 0, NOW_US).archived.recorded_us


def test_the_recorded_time_of_an_event_holds():
    assert recorded_us(recordedtime="2026-03-02T01:02:03.000004Z") == epoch_us(
        datetime(2026, 3, 2, 1, 2, 3, 4, tzinfo=UTC)
    )


def test_what_has_no_recorded_time_is_recorded_now():
    assert recorded_us() == NOW_US


def test_nobody_records_ahead_of_time():
    ahead = NOW + timedelta(days=1)
    assert recorded_us(recordedtime=ahead.isoformat()) == NOW_US
    assert recorded_us(recordedtime="9999-12-31T23:59:59Z") == NOW_US


# ---------------------------------------------------------------------- filed


def test_a_record_is_filed_under_what_its_bytes_say():
    archived = record(node(), LOG, 3, NOW_US).archived
    at_us = epoch_us(datetime(2026, 3, 2, 1, tzinfo=UTC))
    assert archived[:9] == (*LOG, 3, 0, "c", "people", "e1", "tenure.node.observed.v1", at_us)


def test_the_directory_and_the_unreadable_belong_to_no_cluster():
    opened = told("account.opened", "e1", {"account": "lab/x"})
    assert record(opened, LOG, 0, NOW_US).archived.cluster == ""
    assert record(b"?", LOG, 0, NOW_US).archived[4:9] == ("", "", "", "", None)


@given(st.binary(max_size=200))
def test_no_bytes_raise_and_none_are_lost(raw: bytes):
    taken = record(raw, LOG, 0, NOW_US)
    assert taken.archived.raw == raw
    assert from_archive(taken.archived) == taken


@given(logs(), st.data())
def test_no_damage_to_an_event_raises(log: list[Any], data: st.DataObject):
    line = bytearray(data.draw(st.sampled_from(log)).model_dump_json(exclude_unset=True).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    taken = record(bytes(line), LOG, 0, NOW_US)
    folded = Processor().fold([taken])
    assert folded.outcomes.total() == 1
    assert [letter.raw for letter in folded.dead_letters] in ([], [bytes(line)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from([("node.observed", NODE), ("job.submitted", JOB), ("run.observed", RUN)]), json_values, st.data()
)
def test_no_value_of_a_field_raises(one: tuple[str, dict[str, Any]], value: object, data: st.DataObject):
    name, fields = one
    field = data.draw(st.sampled_from([*fields, "priority", "exit_code", "submitted_at", "reason"]))
    taken = record(told(name, "e1", {**fields, field: value}), LOG, 0, NOW_US)
    assert Processor().fold([taken]).outcomes.total() == 1


# ---------------------------------------------------------------------- bounds.py looks at every open field

EVENTS = (*get_args(ClusterEvent), *get_args(DirectoryEvent), GpuSampled)
BOUND_BY_THE_BOOK = {"expected_revision"}
"""Taken only where it equals what the book counted itself."""


def fields_of(schema: dict[str, Any], *, nested: bool) -> dict[str, dict[str, Any]]:
    """Fields of an event's data, with those of the models inside where `nested`."""
    defined = schema["$defs"]
    name = schema["properties"]["data"]["$ref"].removeprefix("#/$defs/")
    found = dict(defined[name]["properties"])
    if nested:
        for other, inner in defined.items():
            if other != name:
                found |= inner.get("properties", {})
    return found


def kinds(field: dict[str, Any]) -> list[dict[str, Any]]:
    """What a field may be, out of unions and lists."""
    found = [one for inner in field.get("anyOf", []) for one in kinds(inner)]
    if "items" in field:
        found += kinds(field["items"])
    return found or [field]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_every_instant_and_every_open_integer_is_looked_at(event: type[BaseModel]):
    schema = event.model_json_schema()
    instants = {
        name
        for name, field in fields_of(schema, nested=False).items()
        if any(kind.get("format") == "date-time" for kind in kinds(field))
    }
    assert set(INSTANTS.get(event, ())) == instants
    open_integers = {
        name
        for name, field in fields_of(schema, nested=True).items()
        for kind in kinds(field)
        if kind.get("type") == "integer" and not {"maximum", "exclusiveMaximum"} & kind.keys()
    }
    assert (event in INTEGERS) == bool(open_integers - BOUND_BY_THE_BOOK)


def test_what_fits_is_let_through():
    at = datetime(2026, 3, 2, tzinfo=UTC)
    removed = NodeRemoved.model_validate(
        {"id": "e1", "source": "s", "time": at, "data": {"cluster": "c", "node": "n"}, "recordedtime": at}
    )
    assert out_of_bounds(removed) is None
