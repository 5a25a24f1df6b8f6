"""What was asked and decided in the period: requests with their answers, and what changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from ledger.units import GPU_MILLI
from tenure.report.tables import Cell, Column, Section, section
from tenure.report.values import Asking, Decided, Granted, Question, ShareLine

ANSWERED: Final = re.compile(
    r"(?P<answer>approved|amended|refused)(?: at (?P<percent>[\d.]+) percent)? \((?P<request>.*)\)", re.DOTALL
)
"""How the book writes the answer to a request: `amended at 15 percent (R-102)`."""
NO_LIMIT: Final = -1

REQUEST_COLUMNS: Final = (
    Column("request", "request", "text"),
    Column("account", "account", "text"),
    Column("pool", "pool", "text"),
    Column("asked_percent", "asked %", "text"),
    Column("asked_at", "asked", "instant"),
    Column("asked_by", "by", "text"),
    Column("plea", "why", "text"),
    Column("answer", "answer", "text"),
    Column("given_percent", "given %", "text"),
    Column("decided_at", "decided", "instant"),
    Column("decided_by", "by", "text"),
    Column("grounds", "why", "text"),
)
CHANGE_COLUMNS: Final = (
    Column("at", "when", "instant"),
    Column("kind", "what", "text"),
    Column("account", "account", "text"),
    Column("pool", "pool", "text"),
    Column("change", "change", "text"),
    Column("in_force_from", "in force from", "instant"),
    Column("in_force_until", "until", "instant", "programs"),
    Column("amount_gpu_ms", "GPU-hours", "gpu_ms"),
    Column("author", "by", "text"),
    Column("reason", "why", "text"),
)


def requests_section(question: Question, asked: Iterable[Asking], decisions: Iterable[Decided]) -> Section:
    """Requests made or answered in the period, and those still open at its end."""
    answers = _answers(decisions)
    rows = [
        _request(asking, answers.get(asking.request))
        for asking in asked
        if question.holds(asking.account)
        and _same_pool(question, asking.pool)
        and _is_of_period(question, asking, answers.get(asking.request))
    ]
    return section(
        "requests", "Requests for other shares", REQUEST_COLUMNS, rows, empty="None was asked for, and none is open."
    )


def _answers(decisions: Iterable[Decided]) -> dict[str, tuple[Decided, re.Match[str]]]:
    """By request, the last answer to it."""
    found = ((d, ANSWERED.fullmatch(d.detail)) for d in decisions if d.kind == "share_decided")
    return {match["request"]: (decision, match) for decision, match in found if match}


def _is_of_period(question: Question, asking: Asking, answer: tuple[Decided, re.Match[str]] | None) -> bool:
    if asking.asked_s >= question.asked_until_s:
        return False
    return answer is None or asking.asked_s >= question.from_s or answer[0].decided_s >= question.from_s


def _request(asking: Asking, answer: tuple[Decided, re.Match[str]] | None) -> tuple[Cell, ...]:
    head = (
        asking.request,
        asking.account,
        asking.pool or "every",
        asking.share_percent,
        asking.asked_s,
        asking.author,
        asking.reason,
    )
    if answer is None:
        return (*head, "open", None, None, None, None)
    decided, match = answer
    return (*head, match["answer"], match["percent"], decided.decided_s, decided.author, decided.reason)


def changes_section(
    question: Question, shares: Iterable[ShareLine], grants: Iterable[Granted], decisions: Iterable[Decided]
) -> Section:
    """Revisions of shares, grants, policy and reassignments, as they were entered."""
    rows = [
        *_revisions(question, shares),
        *(_grant(g) for g in grants if question.concerns(g.account)),
        *(_decision(d) for d in decisions if _is_change(question, d)),
    ]
    rows.sort(key=lambda row: (row[0], str(row[1]), str(row[2]), str(row[3])))
    return section("changes", "What was decided", CHANGE_COLUMNS, rows, empty="Nothing was changed.")


def _is_change(question: Question, decision: Decided) -> bool:
    if not question.from_s <= decision.decided_s < question.asked_until_s:
        return False
    to_us = decision.kind == "reassigned" and question.holds(decision.detail.removeprefix("to "))
    return decision.kind == "policy" or to_us


def _decision(decision: Decided) -> tuple[Cell, ...]:
    return (
        decision.decided_s,
        decision.kind,
        decision.subject,
        "",
        decision.detail,
        None,
        None,
        None,
        decision.author,
        decision.reason,
    )


def _grant(grant: Granted) -> tuple[Cell, ...]:
    return (
        grant.recorded_s,
        "grant",
        grant.account,
        grant.pool,
        grant.grant,
        grant.since_s,
        grant.until_s,
        grant.amount_gpu_ms,
        grant.author,
        grant.reason,
    )


def _revisions(question: Question, lines: Iterable[ShareLine]) -> Iterator[tuple[Cell, ...]]:
    """Revisions entered, or in force from an instant, in the period; each against the one before it."""
    for (pool, parent), of_parent in groupby(lines, key=lambda line: (line.pool, line.parent)):
        before: Sequence[ShareLine] = ()
        for revision, group in groupby(of_parent, key=lambda line: line.revision):
            now = list(group)
            if question.concerns(parent) and _same_pool(question, pool) and _falls_in(question, now[0]):
                yield _revision(revision, now, before)
            before = now


def _falls_in(question: Question, line: ShareLine) -> bool:
    return any(question.from_s <= at_s < question.asked_until_s for at_s in (line.effective_s, line.recorded_s))


def _revision(revision: int, now: Sequence[ShareLine], before: Sequence[ShareLine]) -> tuple[Cell, ...]:
    first = now[0]
    kind = "shares, back-dated" if first.backdated else "shares"
    return (
        first.recorded_s,
        kind,
        first.parent,
        first.pool or "every",
        f"revision {revision}: {difference(now, before)}",
        first.effective_s,
        None,
        None,
        first.author,
        first.reason,
    )


def difference(now: Sequence[ShareLine], before: Sequence[ShareLine]) -> str:
    """What a revision changed, child by child: `proteins 35 → 40 %, climate 30 → 25 %`."""
    was, known = {line.child: line for line in before}, {line.child for line in now}
    told = [_child(line, was.get(line.child)) for line in now]
    gone = [f"{line.child} {_plain(line.share_percent)} → nothing" for line in before if line.child not in known]
    return ", ".join([*filter(None, told), *gone]) or "as before"


def _child(line: ShareLine, was: ShareLine | None) -> str:
    percent, limit = _plain(line.share_percent), _limit(line)
    if was is None:
        return f"{line.child} {percent} %{limit}"
    share = f" {_plain(was.share_percent)} → {percent} %" if was.share_percent != line.share_percent else ""
    if was.slot_limit_milli != line.slot_limit_milli:
        return f"{line.child}{share}{limit or ' without a limit on GPUs at once'}"
    return f"{line.child}{share}" if share else ""


def _plain(percent: str) -> str:
    return percent.rstrip("0").rstrip(".") if "." in percent else percent


def _limit(line: ShareLine) -> str:
    if line.slot_limit_milli == NO_LIMIT:
        return ""
    gpus = line.slot_limit_milli / GPU_MILLI
    return f" (at most {gpus:g} GPUs at once)"


def _same_pool(question: Question, pool: str) -> bool:
    return not question.pool or pool in {"", question.pool}
