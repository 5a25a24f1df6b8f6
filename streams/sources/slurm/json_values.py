"""Values of Slurm's JSON: plain in old data parsers, wrapped in `{set, infinite, number}` in new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams.sources.reading import Refused
from streams.sources.times import number_s

Json = object


@dataclass(frozen=True, slots=True)
class Fields:
    """The members of a JSON object, asked for by name and type; what is absent or of another type is empty."""

    members: Mapping[str, Json]

    @staticmethod
    def of(value: Json) -> Fields:
        """The members of a value, none for one that is no object."""
        return Fields(value if isinstance(value, Mapping) else {})

    def sub(self, name: str) -> Fields:
        return Fields.of(self.members.get(name))

    def array(self, name: str) -> list[Json]:
        value = self.members.get(name)
        return value if isinstance(value, list) else []

    def text(self, name: str) -> str:
        value = self.members.get(name)
        return value.strip() if isinstance(value, str) else ""

    def words(self, name: str) -> list[str]:
        """A word or a list of words."""
        value = self.members.get(name)
        if isinstance(value, str):
            return [value]
        return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []

    def number(self, name: str) -> int | None:
        """The number; None where it is not set, infinite or no number."""
        return number(self.members.get(name))

    def instant(self, name: str) -> int | None:
        """Epoch seconds; None for zero and the numbers that stand for none."""
        found = self.number(name)
        return None if found is None else number_s(found)

    def flag(self, name: str) -> bool:
        return self.members.get(name) is True


def number(value: Json) -> int | None:
    """A plain or a wrapped number. Raises Refused for one that is not whole."""
    if isinstance(value, Mapping):
        return None if not value.get("set") or value.get("infinite") else number(value.get("number"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124  (NaN is the one that differs)
        raise Refused("number_not_understood", f"{value} is no number: correct the record")
    return int(value)
