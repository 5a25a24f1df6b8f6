"""docs/events.md tells every event as it is: types, fields, which are required, what holds where one is left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ledger.events.acts import PlanAsker, PlanVictim, Room
from ledger.events.decisions import ChildShare
from ledger.events.envelope import Envelope
from ledger.events.jobs import Placement, Shape, Suspension
from ledger.events.nodes import GpuSample
from ledger.schemas import MODELS, type_of
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
PARTS: dict[str, type[BaseModel]] = {
    "shape": Shape,
    "placement": Placement,
    "suspension": Suspension,
    "child share": ChildShare,
    "plan asker": PlanAsker,
    "plan victim": PlanVictim,
    "room": Room,
    "GPU sample": GpuSample,
}
EVENTS: dict[str, type[Envelope]] = {type_of(model): model for model in MODELS}

DEFAULTS = {"None": "—", "False": "`no`", "": "`''`"}
"""How the page shows what holds where a field is left out, where that is not its text."""


class Row(NamedTuple):
    """A field as the page has it."""

    field: str
    kind: str
    otherwise: str
    meaning: str


def sections() -> dict[str, str]:
    """The text of each `###` section by its title."""
    found = re.split(r"^###? (.+)\n", PAGE, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def rows(text: str) -> list[Row]:
    lines = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.*?) ?\|$", text, flags=re.MULTILINE)
    return [Row(*line) for line in lines]


def data_of(model: type[Envelope]) -> type[BaseModel]:
    data = model.model_fields["data"].annotation
    assert isinstance(data, type)
    assert issubclass(data, BaseModel)
    return data


def otherwise(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = str(field.get_default(call_default_factory=True))
    return DEFAULTS.get(default, f"`{default}`")


def test_every_event_has_a_section_and_every_section_an_event():
    told = {title for title in sections() if title.startswith("tenure.")}
    assert told == set(EVENTS)
    assert set(PARTS) <= set(sections())


@pytest.mark.parametrize("name", EVENTS)
def test_the_fields_of_an_event(name: str):
    fields = data_of(EVENTS[name]).model_fields
    told = rows(sections()[name])
    assert [row.field for row in told] == list(fields)
    assert {row.field: row.otherwise for row in told} == {n: otherwise(field) for n, field in fields.items()}


@pytest.mark.parametrize("name", PARTS)
def test_the_fields_of_a_part(name: str):
    fields = PARTS[name].model_fields
    told = rows(sections()[name])
    assert [row.field for row in told] == list(fields)
    assert {row.field: row.otherwise for row in told} == {n: otherwise(field) for n, field in fields.items()}


def test_the_envelope():
    head = PAGE[: PAGE.index("**Kinds of fields.**")]
    told = {row.field: row.otherwise for row in rows(head)}
    assert told == {name: otherwise(field) for name, field in Envelope.model_fields.items()} | {"type": "required"}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_says_who_writes_it_and_why_repeats_are_harmless(name: str):
    text = sections()[name]
    for word in ("writer", "repeats"):
        assert len(re.findall(rf"^- \*\*{word}\*\*: \S", text, flags=re.MULTILINE)) == 1
    assert re.match(r"\n[A-Z`]", text), "it begins with what it means"


SCHEMA_KIND: dict[str, dict[str, Any]] = {  # how a field's kind on the page begins -> what its schema must say
    "name": {"maxLength": 256, "minLength": 1},
    "path": {"maxLength": 512},
    "seconds": {"maximum": 10 * 366 * 86_400},
    "milli-GPUs": {"maximum": 1_000_000_000},
    "instant": {"format": "date-time"},
    "note": {"maxLength": 4_096},
    "yes or no": {"type": "boolean"},
    "integer": {"type": "integer"},
    "text, at most 64": {"maxLength": 64},
    "GPU-ms": {"type": "integer", "exclusiveMinimum": 0},
    "list of": {"type": "array"},
    "hours, 1 to 8784": {"minimum": 1, "maximum": 8784},
    "hours, 24 to 87840": {"minimum": 24, "maximum": 87840},
}


@pytest.mark.parametrize("name", [*EVENTS, *PARTS])
def test_the_kinds_of_fields(name: str):
    model = data_of(EVENTS[name]) if name in EVENTS else PARTS[name]
    properties = model.model_json_schema()["properties"]
    for row in rows(sections()[name]):
        known = [says for kind, says in SCHEMA_KIND.items() if row.kind.startswith(kind)]
        schemas = [properties[row.field], *properties[row.field].get("anyOf", [])]
        for says in known[:1]:
            assert any(says.items() <= one.items() for one in schemas), f"{row} is {schemas}"
        listed = re.findall(r"`(\w+)`", row.kind)
        enums = [one["enum"] for one in schemas if "enum" in one]
        if listed and not row.kind.startswith(("as in", "text")):
            assert enums == [listed], row


def test_the_page_names_no_file_that_is_not_there(root: Path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE):
        assert (root / "docs" / target).is_file()
