"""A cluster's policy in words: its fields, what is in force and who said so, and changes as people type them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ledger.acts import PAUSED
from ledger.events.decisions import PolicySetData
from ledger.policy import DEFAULT
from ledger.state import State
from ledger.units import DAY_S, HOUR_S, instant
from streams.sources.times import short_duration_s
from tenure.cli.exits import Stop
from tenure.cli.instants import parsed
from tenure.cli.text import NONE, duration, when

OPENS: Final = "opens_at"
FIELDS: Final = tuple(f for f in PolicySetData.model_fields if f not in {"cluster", "author", "reason"})
"""All that `policy.set` may change, as docs/events.md has them."""
MEANS: Final[Mapping[str, str]] = {
    "enforce": "plans are carried out: runs are ordered off",
    "observe": "plans are made and explained, and nothing is touched",
    PAUSED: "no plan is made; orders that were given come to their end",
}
"""What `enforcement` may be."""

Row = Mapping[str, Any]


class Field(NamedTuple):
    """A number of the policy in force; `row` is the decision that set it, None where nobody did."""

    name: str
    value: Any
    row: Row | None


def in_force(state: State, decisions: Sequence[Row], at_s: int) -> list[Field]:
    """Every field as it is at an instant; `decisions` are all of kind policy, the latest first."""
    policy: dict[str, Any] = state.policy_at(at_s)._asdict()
    if state.policies.opens_s is not None:
        policy[OPENS] = instant(state.policies.opens_s)
    return [Field(name, policy.get(name), _who(name, decisions, at_s)) for name in FIELDS]


def _who(name: str, decisions: Iterable[Row], at_s: int) -> Row | None:
    """The latest in the log that named the field and was in force by then."""
    known = (row for row in decisions if row["occurred_at"].timestamp() <= at_s or name == OPENS)
    return next((row for row in known if name in changed(row)), None)


def changed(row: Row) -> dict[str, str]:
    """The fields a decision changed, as its detail tells them."""
    parts = (part.partition("=") for part in str(row["detail"]).split(", ") if part)
    return {name: value for name, _, value in parts}


def before_pause(state: State, at_s: int) -> str:
    """What enforcement was before it was paused; as it is by itself where nobody said."""
    said = [dict(change.changes).get("enforcement") for change in state.policies.changes if change.at_s <= at_s]
    return next((str(one) for one in reversed(said) if one is not None and one != PAUSED), DEFAULT.enforcement)


def wanted(named: Sequence[str]) -> dict[str, object]:
    """Changes written as `field=value`; seconds and hours also as lengths, such as `grace_s=2m`, `window_h=7d`."""
    found: dict[str, object] = {}
    for text in named:
        name, sign, value = text.partition("=")
        if not sign or name not in FIELDS:
            raise Stop(f"{text!r} changes nothing: write FIELD=VALUE with one of {', '.join(FIELDS)}")
        if name in found:
            raise Stop(f"{name} is named twice: say one value")
        found[name] = _value(name, value)
    return found


def _value(name: str, text: str) -> object:
    if name == OPENS:
        return parsed(text, name)
    if name.endswith("_s") and not text.isdigit():
        return _length_s(name, text)
    if name.endswith("_h") and not text.isdigit():
        length_s = _length_s(name, text)
        if length_s % HOUR_S:
            raise Stop(f"{name} is in whole hours, and {text!r} is {duration(length_s)}")
        return length_s // HOUR_S
    return text


def _length_s(name: str, text: str) -> int:
    try:
        return short_duration_s(text)
    except ValueError as wrong:
        raise Stop(
            f"{name} {text!r} is no length: write a number, or one with its unit, such as 90s, 2m, 7d"
        ) from wrong


def plain(name: str, value: object) -> str:
    """A value as people read it: long ones also as lengths."""
    match value:
        case None:
            return NONE
        case datetime():
            return when(value)
        case int() if name.endswith("_s"):
            return _with_length(value, value, HOUR_S)
        case int() if name.endswith("_h"):
            return _with_length(value, value * HOUR_S, DAY_S)
        case _:
            return str(value)


def _with_length(value: int, length_s: int, from_s: int) -> str:
    return f"{value} ({duration(length_s)})" if length_s >= from_s else str(value)
