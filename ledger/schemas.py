"""JSON Schemas (Draft 2020-12) of every event, from the models that validate them.

`python -m ledger.schemas` lists the types; with a type it prints that type's schema. `docs/schemas/` keeps them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, get_args

from ledger.events import ClusterEvent, DirectoryEvent, GpuSampled
from ledger.events.envelope import Envelope

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MODELS: tuple[type[Envelope], ...] = (*get_args(ClusterEvent), *get_args(DirectoryEvent), GpuSampled)


def type_of(model: type[Envelope]) -> str:
    """The CloudEvents type a model is for."""
    return str(model.model_fields["type"].default)


def schemas() -> dict[str, dict[str, Any]]:
    """By event type, what an event of it must look like to be taken."""
    return {type_of(model): _schema(model) for model in MODELS}


def _schema(model: type[Envelope]) -> dict[str, Any]:
    schema = model.model_json_schema()
    title, required = type_of(model), schema["required"]
    # The type has a default where events are made by hand, but tells events apart where they are read.
    return {"$schema": DIALECT} | schema | {"title": title, "required": sorted([*required, "type"])}


def text(schema: dict[str, Any]) -> str:
    """A schema as it is kept in a file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Print the names of all types, or the schema of one; 2 if there is no such type."""
    known = schemas()
    if not arguments:
        sys.stdout.write("".join(f"{name}\n" for name in known))
        return 0
    if len(arguments) > 1 or arguments[0] not in known:
        sys.stderr.write(f"No event is called {' '.join(arguments)}; `python -m ledger.schemas` lists them.\n")
        return 2
    sys.stdout.write(text(known[arguments[0]]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
