"""Mapping rules: from a scheduler's account, partition, QOS, user, reservation to a budget and a contract."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from ledger.events.jobs import JobKind
from streams.sources.config import Rule
from streams.sources.times import short_duration_s

_MARK: Final = re.compile(r"(?:^|[\s;,])tenure:\s*((?:[a-z_]+=[^\s;,]+[\s,]*)+)")
_PAIR: Final = re.compile(r"([a-z_]+)=([^\s;,]+)")
_UNSAFE: Final = re.compile(r"[\s/]+")
_PATH: Final = re.compile(r"[^/\s]+(/[^/\s]+)*")
_YES: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
MAX_MIN_RUNTIME_S: Final = 10 * 366 * 86_400
"""What an event can carry; the cluster's own maximum is policy and makes a run unfunded, not unreadable."""


class CommentWrong(ValueError):
    """A job's comment addresses Tenure and cannot be read; the message says what to write."""


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


def terms_of(rules: tuple[Rule, ...], labels: Labels, comment: str, kind: JobKind = "batch") -> Terms:
    """The terms of a record: in order, each value from the first rule that gives it; then the job's comment.

    Without a rule for the budget it is the scheduler's account name. Raises CommentWrong.
    """
    fitting = [rule for rule in rules if matches(rule, labels)]
    template = next((r.budget for r in fitting if r.budget is not None), "{account}")
    terms = Terms(
        account=account_path(template, labels),
        min_runtime_s=next((r.min_runtime for r in fitting if r.min_runtime is not None), 0),
        resumable=next((r.resumable for r in fitting if r.resumable is not None), False),
        kind=next((r.kind for r in fitting if r.kind is not None), kind),
        priority=next((r.priority for r in fitting if r.priority is not None), 0),
    )
    return _commented(terms, comment) if "tenure:" in comment else terms


@dataclass(slots=True)
class Book:
    """The rules of one source; records that look alike to them are decided once."""

    rules: tuple[Rule, ...]
    kind: JobKind
    decided: dict[Labels, Terms] = field(default_factory=dict)

    def terms(self, labels: Labels, comment: str = "") -> Terms:
        """The terms of a record. Raises CommentWrong."""
        found = self.decided.get(labels)
        if found is None:
            found = self.decided[labels] = terms_of(self.rules, labels, "", self.kind)
        return _commented(found, comment) if "tenure:" in comment else found


def _commented(terms: Terms, comment: str) -> Terms:
    """The terms with those that the comment asks for."""
    match = _MARK.search(comment)
    if match is None:
        raise CommentWrong(
            f"the comment {comment!r} names tenure but no terms: "
            "write `tenure: min_runtime=2h resumable=yes budget=lab/x`"
        )
    account, min_runtime_s, resumable, kind = terms.account, terms.min_runtime_s, terms.resumable, terms.kind
    for key, value in _PAIR.findall(match.group(1)):
        match key:
            case "min_runtime":
                min_runtime_s = _min_runtime_s(value)
            case "resumable" if value.lower() in _YES:
                resumable = _YES[value.lower()]
            case "budget" if _PATH.fullmatch(value):
                account = value
            case "kind" if value in {"batch", "session", "debug"}:
                kind = value
            case _:
                raise CommentWrong(
                    f"{key}={value} in a tenure comment is not understood: write min_runtime=2h, "
                    "resumable=yes or no, budget=lab/x, kind=batch, session or debug"
                )
    return Terms(account, min_runtime_s, resumable, kind, terms.priority)


def _min_runtime_s(value: str) -> int:
    try:
        seconds = short_duration_s(value)
    except ValueError as wrong:
        raise CommentWrong(f"min_runtime={value} in a tenure comment: {wrong}") from wrong
    if seconds > MAX_MIN_RUNTIME_S:
        raise CommentWrong(f"min_runtime={value} in a tenure comment is over ten years: write hours, like 8h")
    return seconds
