"""What pydantic finds wrong with an event, in words a person can act on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ledger.events.envelope import ACCOUNT_PATTERN, ATTEMPT_PATTERN

END_BEFORE_START: Final = "end_before_start"
"""How the message of a run that ends before it starts begins: it is refused under this name."""
ENDS_BEFORE: Final = "the run ends before it starts; correct the record at its source and send it again"

PATTERNS: Final[Mapping[str, str]] = {
    ACCOUNT_PATTERN: "is no account: write its path with one slash between names and no blanks, like lab/nlp/parsing",
    ATTEMPT_PATTERN: "is no name of an attempt: it must not hold a slash",
}
"""What a text that does not fit should look like."""


def in_words(error: ErrorDetails) -> str:
    """One fault, without what only a programmer reads."""
    match error["type"]:
        case "string_pattern_mismatch":
            pattern = str(error.get("ctx", {}).get("pattern", ""))
            return f"{str(error['input'])[:80]!r} {PATTERNS[pattern]}" if pattern in PATTERNS else error["msg"]
        case _:
            return error["msg"].removeprefix("Value error, ")


def ends_before_start(errors: Iterable[ErrorDetails]) -> bool:
    """Whether what is wrong is that a run ends before it starts."""
    return any(END_BEFORE_START in error["msg"] for error in errors)


def told_of(wrong: ValueError) -> str:
    """What does not fit an event, field by field where pydantic says it."""
    if not isinstance(wrong, ValidationError):
        return str(wrong)
    faults = wrong.errors(include_url=False)
    return "; ".join(f"{'.'.join(map(str, f['loc']))}: {in_words(f)}" if f["loc"] else in_words(f) for f in faults)
