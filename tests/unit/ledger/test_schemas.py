"""The committed JSON Schemas are those of the code, are Draft 2020-12, and say what the models say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ledger.events import EVENT
from ledger.schemas import DIALECT, MODELS, main, schemas, text, type_of
from tests.oracle.logs import seeded_log

SCHEMAS = schemas()

TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
COUNTS = {"minLength", "maxLength", "minItems", "maxItems"}
NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
ONE_OF_THEM = {"additionalProperties", "items"}
SEVERAL_OF_THEM = {"anyOf"}
NAMED = {"properties", "$defs"}
TEXT = {"title", "description", "format", "pattern", "$ref", "$schema"}
ANYTHING = {"default", "const"}


def faults(schema: Any, root: dict[str, Any], place: str) -> Iterator[str]:  # noqa: C901, PLR0912 -- one arm a keyword
    """What is not a schema of the part of Draft 2020-12 that is used here."""
    if isinstance(schema, bool):
        return
    for word, value in schema.items():
        here = f"{place}/{word}"
        if word in ONE_OF_THEM:
            yield from faults(value, root, here)
        elif word in SEVERAL_OF_THEM:
            if not value:
                yield f"{here} is empty"
            for n, one in enumerate(value):
                yield from faults(one, root, f"{here}/{n}")
        elif word in NAMED:
            for name, one in value.items():
                yield from faults(one, root, f"{here}/{name}")
        elif word == "type":
            if value not in TYPES:
                yield f"{here}: {value}"
        elif word in COUNTS:
            if not (isinstance(value, int) and value >= 0):
                yield f"{here}: {value}"
        elif word in NUMBERS:
            if not isinstance(value, int | float):
                yield f"{here}: {value}"
        elif word == "enum":
            if not value or len(set(value)) != len(value):
                yield f"{here}: {value}"
        elif word == "required":
            if not set(value) <= set(schema["properties"]) or len(set(value)) != len(value):
                yield f"{here}: {value}"
        elif word in TEXT:
            if not isinstance(value, str):
                yield f"{here}: {value}"
        elif word not in ANYTHING:
            yield f"{here} is no keyword known"
    if "pattern" in schema:
        re.compile(schema["pattern"])
    if "$ref" in schema and not isinstance(resolved(schema["$ref"], root), dict):
        yield f"{place}: nothing at {schema['$ref']}"
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength")):
        if low in schema and high in schema and schema[low] > schema[high]:
            yield f"{place}: {low} over {high}"


def resolved(ref: str, root: Any) -> Any:
    assert ref.startswith("#/")
    for step in ref[2:].split("/"):
        root = root.get(step, {})
    return root or None


PYTHON: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def holds(schema: Any, value: Any, root: dict[str, Any]) -> bool:
    """Whether a JSON value is as the schema says; formats apart."""
    if "$ref" in schema:
        return holds(resolved(schema["$ref"], root), value, root)
    if "anyOf" in schema:
        return any(holds(one, value, root) for one in schema["anyOf"])
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind and (not isinstance(value, PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if isinstance(value, str):
        long_enough = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return long_enough and re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, int | float) and not isinstance(value, bool):
        above = value >= schema.get("minimum", value) and value > schema.get("exclusiveMinimum", value - 1)
        return bool(above and schema.get("maximum", value) >= value > schema.get("exclusiveMinimum", value - 1))
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(holds(schema["items"], one, root) for one in value)
    if isinstance(value, dict):
        named = schema.get("properties", {})
        extra = schema.get("additionalProperties", True)
        return (
            set(schema.get("required", ())) <= set(value)
            and (extra is not False or set(value) <= set(named))
            and all(holds(named[name], inner, root) for name, inner in value.items() if name in named)
        )
    return True


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_current(name: str, root: Path):
    path = root / "docs" / "schemas" / f"{name}.json"
    assert path.read_text(encoding="utf-8") == text(SCHEMAS[name]), (
        f"write it again: python -m ledger.schemas {name} > docs/schemas/{name}.json"
    )


def test_there_is_one_schema_for_each_event_and_no_other(root: Path):
    assert {path.stem for path in (root / "docs" / "schemas").iterdir()} == set(SCHEMAS)
    assert len(SCHEMAS) == len(MODELS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_is_a_schema_of_the_draft(name: str):
    schema = SCHEMAS[name]
    assert schema["$schema"] == DIALECT
    assert list(faults(schema, schema, "#")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "text"},
        {"minLength": -1},
        {"maximum": "3"},
        {"enum": []},
        {"anyOf": []},
        {"required": ["a"], "properties": {}},
        {"$ref": "#/$defs/nothing"},
        {"properties": {"a": {"kind": "string"}}},
        {"minimum": 3, "maximum": 2},
        {"title": 1},
    ],
)
def test_what_is_no_schema_is_found(wrong: dict[str, Any]):
    assert list(faults(wrong, wrong, "#"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_type_is_required_and_told(name: str):
    schema = SCHEMAS[name]
    assert {"id", "source", "time", "type", "data"} == set(schema["required"])
    assert schema["properties"]["type"]["const"] == name == schema["title"]


def test_events_are_as_their_schemas_say():
    seen = set()
    for event in seeded_log(3):
        body = event.model_dump(mode="json", exclude_none=True)
        assert holds(SCHEMAS[event.type], body, SCHEMAS[event.type]), body
        seen.add(event.type)
    assert len(seen) > 12


START = {
    "specversion": "1.0",
    "id": "e",
    "source": "s",
    "type": "tenure.job.started.v1",
    "time": "2026-03-02T08:00:00Z",
    "data": {"cluster": "c", "job": "j", "attempt": "1", "placements": [{"node": "n", "gpus_milli": 1000}]},
}


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({"id": ""}, {}),
        ({"source": None}, {}),
        ({"specversion": "0.3"}, {}),
        ({}, {"job": ""}),
        ({}, {"job": 7}),
        ({}, {"placements": []}),
        ({}, {"placements": [{"node": "n"}]}),
        ({}, {"placements": [{"node": "n", "gpus_milli": 0}]}),
        ({}, {"placements": [{"node": "n", "gpus_milli": 10**10}]}),
        ({}, {"attempts": 2}),
    ],
)
def test_model_and_schema_refuse_alike(change: dict[str, Any], data: dict[str, Any]):
    schema = SCHEMAS["tenure.job.started.v1"]
    EVENT.validate_python(START)
    assert holds(schema, START, schema)
    wrong = START | change | {"data": START["data"] | data}  # type: ignore[operator]
    with pytest.raises(ValidationError):
        EVENT.validate_python(wrong)
    assert not holds(schema, wrong, schema)


def test_the_shell_lists_and_prints(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines() == [type_of(model) for model in MODELS]
    assert main(["tenure.clock.ticked.v1"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS["tenure.clock.ticked.v1"]
    for wrong in (["tenure.clock.stopped.v1"], ["tenure.clock.ticked.v1", "more"]):
        assert main(wrong) == 2
        assert f"No event is called {' '.join(wrong)}" in capsys.readouterr().err
