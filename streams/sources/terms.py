"""Mapping rules: from a scheduler's account, partition, QOS, user, reservation to a budget and a contract."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from ledger.events.jobs import JobKind
from streams.sources.config import CommentTrust, Rule
from streams.sources.times import short_duration_s

_MARK: Final = re.compile(r"(?:^|[\s;,])tenure:\s*((?:[a-z_]+=[^\s;,]+[\s,]*)+)")
_PAIR: Final = re.compile(r"([a-z_]+)=([^\s;,]+)")
_UNSAFE: Final = re.compile(r"[\s/]+")
_PATH: Final = re.compile(r"[^/\s]+(/[^/\s]+)*")
_YES: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
KINDS: Final[Mapping[str, JobKind]] = {"batch": "batch", "session": "session", "debug": "debug"}
MAX_PATH: Final = 512
_VALUES: Final = "write min_runtime=2h, resumable=yes or no, budget=lab/x, kind=batch, session or debug"
_NOTHING_SAID: Final = "a comment that begins with tenure: names terms, like `tenure: min_runtime=2h budget=lab/x`"
MAX_MIN_RUNTIME_S: Final = 10 * 366 * 86_400
"""What an event can carry; the cluster's own maximum is policy and makes a run unfunded, not unreadable."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What rules look at."""

    account: str = ""
    partition: str = ""
    qos: str = ""
    user: str = ""
    reservation: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a record becomes: the account it is booked on and its contract."""

    account: str | None = None
    min_runtime_s: int = 0
    resumable: bool = False
    kind: JobKind = "batch"
    priority: int = 0
    note: str = ""
    """What in the job's comment was not understood, and what to write; the rules hold in its place."""


def matches(rule: Rule, labels: Labels) -> bool:
    """Whether every pattern of the rule fits."""
    pairs = (
        (rule.account, labels.account),
        (rule.partition, labels.partition),
        (rule.qos, labels.qos),
        (rule.user, labels.user),
        (rule.reservation, labels.reservation),
    )
    return all(given is None or any(fnmatchcase(value, p) for p in given) for given, value in pairs)


def segment(name: str) -> str:
    """A name as one segment of an account path: blanks and slashes become `_`."""
    return _UNSAFE.sub("_", name.strip())


def account_path(template: str, labels: Labels) -> str | None:
    """The template with the record's names filled in; None when a name it asks for is empty."""
    values = {
        "account": segment(labels.account),
        "partition": segment(labels.partition),
        "qos": segment(labels.qos),
        "user": segment(labels.user),
    }
    path = template
    for name, value in values.items():
        if f"{{{name}}}" in path:
            if not value:
                return None
            path = path.replace(f"{{{name}}}", value)
    return path if _PATH.fullmatch(path) else None


def terms_of(rules: tuple[Rule, ...], labels: Labels, kind: JobKind = "batch") -> Terms:
    """The terms of a record: rules in order, each value from the first that gives it.

    Without a rule for the budget it is the scheduler's account name.
    """
    fitting = [rule for rule in rules if matches(rule, labels)]
    template = next((r.budget for r in fitting if r.budget is not None), "{account}")
    return Terms(
        account=account_path(template, labels),
        min_runtime_s=next((r.min_runtime for r in fitting if r.min_runtime is not None), 0),
        resumable=next((r.resumable for r in fitting if r.resumable is not None), False),
        kind=next((r.kind for r in fitting if r.kind is not None), kind),
        priority=next((r.priority for r in fitting if r.priority is not None), 0),
    )


@dataclass(slots=True)
class Book:
    """The rules of one source; records that look alike to them are decided once."""

    rules: tuple[Rule, ...] = ()
    kind: JobKind = "batch"
    comments: CommentTrust = "all"
    decided: dict[Labels, Terms] = field(default_factory=dict)

    def terms(self, labels: Labels, comment: str = "") -> Terms:
        """The terms of a record by the rules, then by the job's comment as far as it is trusted."""
        found = self.decided.get(labels)
        if found is None:
            found = self.decided[labels] = terms_of(self.rules, labels, self.kind)
        if "tenure:" not in comment or self.comments == "none":
            return found
        return commented(found, comment, may_choose_budget=self.comments == "all")


def commented(terms: Terms, comment: str, *, may_choose_budget: bool = True) -> Terms:
    """The terms with those that the comment asks for.

    A comment is written by the job's user. What is wrong in it must not keep the job out of the book, so it
    becomes a note, and the terms stay as the rules have them.
    """
    match = _MARK.search(comment)
    if match is None:
        return replace(terms, note=f"{_NOTHING_SAID}; the comment is {comment[:120]!r}")
    asked = terms
    for key, value in _PAIR.findall(match[1]):
        if key == "budget" and not may_choose_budget:
            return replace(terms, note="this source does not let a comment choose the budget: ask for a rule instead")
        changed = _with(asked, key, value)
        if changed is None:
            return replace(terms, note=f"{key}={value[:80]} is not understood: {_VALUES}")
        asked = changed
    return asked


def _with(terms: Terms, key: str, value: str) -> Terms | None:
    """The terms with one value of a comment; None where it is not understood."""
    match key:
        case "min_runtime":
            seconds = _min_runtime_s(value)
            return None if seconds is None else replace(terms, min_runtime_s=seconds)
        case "resumable" if value.lower() in _YES:
            return replace(terms, resumable=_YES[value.lower()])
        case "budget" if len(value) <= MAX_PATH and _PATH.fullmatch(value):
            return replace(terms, account=value)
        case "kind" if value in KINDS:
            return replace(terms, kind=KINDS[value])
        case _:
            return None


def _min_runtime_s(value: str) -> int | None:
    try:
        seconds = short_duration_s(value)
    except ValueError:
        return None
    return seconds if seconds <= MAX_MIN_RUNTIME_S else None
