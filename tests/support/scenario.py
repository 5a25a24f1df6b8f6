"""Timelines as text: what was told of a cluster, and what its book must then say.

    == the end comes late
    08:00 node n1 8xh100 available
    08:00 shares lab: a=60 b=40
    08:10 start j1/1 on n1:4
    09:05 tick
    09:10 of 08:40 end j1/1 succeeded
    expect hour 08:00 lab/a charged 2

A line begins with the time at which it is recorded; `of` says when it happened, where that is another. Times are of
day 1 unless they name a day (`day 3 08:00`). `==` begins another timeline with an empty book.
Amounts are GPU-hours, exact: `2`, `0.25`, `7/3`. After each event the book is held against the oracle.
`tests/scenarios/README.md` lists every sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ledger.outcomes import Applied, Outcome, Refused, Repeated
from ledger.rows import AccountHour, ClusterHour, Job, NodeHour, Plan, Preemption, Remark, Run
from ledger.units import GPU_HOUR_MS, HOUR_S, epoch_s
from tests.support import said
from tests.support.folded import Folded

TIME = re.compile(r"(?:day -?\d+ )?\d\d:\d\d(?::\d\d(?:\.\d+)?)?")
SPAN = re.compile(r"(\d+)(h|min|s)$")
HOURS_CHECKED = 36
SECONDS = {"h": HOUR_S, "min": 60, "s": 1}


class WrongScenario(Exception):
    """A line that cannot be read, or whose expectation does not hold: file, line number, line, why."""


class Words:
    """The words of a sentence, taken from the front or by keyword."""

    def __init__(self, text: str) -> None:
        self.words = text.split()

    def next(self) -> str:
        if not self.words:
            raise ValueError("something is missing at the end")
        return self.words.pop(0)

    def flag(self, word: str) -> bool:
        """Whether the word stands anywhere; it is taken out."""
        if word not in self.words:
            return False
        self.words.remove(word)
        return True

    def after(self, word: str) -> str | None:
        """What follows the keyword, both taken out."""
        if word not in self.words:
            return None
        place = self.words.index(word)
        self.words.pop(place)
        if place == len(self.words):
            raise ValueError(f"nothing follows {word!r}")
        return self.words.pop(place)

    def time_after(self, word: str) -> str | None:
        """The time that follows the keyword, which may name a day."""
        found = self.after(word)
        if found != "day":
            return found
        place = next(n for n, w in enumerate(self.words) if re.match(r"-?\d+$", w) and ":" in self.words[n + 1])
        return f"day {self.words.pop(place)} {self.words.pop(place)}"

    def rest(self) -> str:
        text, self.words = " ".join(self.words), []
        return text

    def pairs(self) -> dict[str, str]:
        """`name=value` words."""
        pairs = dict(word.split("=", 1) for word in self.words if "=" in word)
        self.words = [word for word in self.words if "=" not in word]
        return pairs

    def done(self) -> None:
        if self.words:
            raise ValueError(f"does not understand {' '.join(self.words)!r}")


def seconds(text: str) -> int:
    """`2h`, `40min`, `90s`."""
    found = SPAN.match(text)
    if found is None:
        raise ValueError(f"not a length of time: {text!r}")
    return int(found[1]) * SECONDS[found[2]]


def amount(text: str) -> int:
    """GPU-hours as GPU-milliseconds; they must come out whole."""
    exact = Fraction(text) * GPU_HOUR_MS
    if exact.denominator != 1:
        raise ValueError(f"{text} GPU-hours are not a whole number of GPU-milliseconds")
    return exact.numerator


def named(run: str) -> dict[str, str]:
    job, _, attempt = run.partition("/")
    return {"job": job, "attempt": attempt} if attempt else {"job": job}


def placements(words: Words) -> list[dict[str, Any]]:
    """`on n1:4 n2:0.5`."""
    where = [w for w in words.words if re.match(r"[^:=]+:[\d.]+$", w) and not TIME.fullmatch(w)]
    words.words = [w for w in words.words if w not in where and w != "on"]
    return [{"node": w.split(":")[0], "gpus_milli": int(1000 * Fraction(w.split(":")[1]))} for w in where]


def terms(words: Words) -> dict[str, Any]:
    """What submissions and full statements of runs share."""
    data: dict[str, Any] = {"user": words.after("by") or "ann"}
    for keyword, name in (("for", "account"), ("type", "gpu_type"), ("kind", "kind"), ("gang", "gang")):
        if (value := words.after(keyword)) is not None:
            data[name] = value
    if (least := words.after("min")) is not None:
        data["min_runtime_s"] = seconds(least)
    if words.flag("resumable"):
        data["resumable"] = True
    return data


# ---------------------------------------------------------------------- sentences: (type, data) of an event

Told = tuple[str, dict[str, Any]]


def _node(words: Words) -> Told:
    name, what = words.next(), words.next()
    if what == "removed":
        return "node.removed", {"node": name}
    gpus, _, gpu_type = what.partition("x")
    data = {"node": name, "gpus_milli": int(1000 * Fraction(gpus)), "gpu_type": gpu_type, "state": words.next()}
    return "node.observed", data


def _submit(words: Words) -> Told:
    data = {"job": words.next(), **terms(words)}
    if words.flag("held"):
        data["held"] = True
    if (shape := words.after("as")) is not None:
        nodes, _, each = shape.partition("x")
        data["shape"] = {"nodes": int(nodes), "gpus_per_node_milli": int(1000 * Fraction(each))}
    if (eligible := words.time_after("eligible")) is not None:
        data["eligible_from"] = said.t(eligible)
    data["gpus_milli"] = int(1000 * Fraction(words.after("gpus") or "1"))
    return "job.submitted", data


def _update(words: Words) -> Told:
    data: dict[str, Any] = {"job": words.next(), **words.pairs()}
    return "job.updated", {
        name: value == "yes" if name in {"held", "resumable"} else value for name, value in data.items()
    }


def _start(words: Words) -> Told:
    return "job.started", named(words.next()) | {"placements": placements(words)}


def _suspend(words: Words) -> Told:
    return "job.suspended", named(words.next()) | {"releases_gpus": words.flag("releasing")}


def _end(words: Words) -> Told:
    return "job.ended", named(words.next()) | {"outcome": words.next()}


def _run(words: Words) -> Told:
    data: dict[str, Any] = named(words.next()) | {"placements": placements(words)} | terms(words)
    for keyword, name in (("from", "started_at"), ("until", "ended_at"), ("submitted", "submitted_at")):
        if (time := words.time_after(keyword)) is not None:
            data[name] = said.t(time)
    if (paused := words.after("paused")) is not None:
        data["suspended_s"] = seconds(paused)
    if "ended_at" in data:
        data["outcome"] = words.next()
    return "run.observed", data


def _shares(words: Words, revisions: dict[tuple[str | None, str], int]) -> Told:
    data: dict[str, Any] = {"author": "ann", "parent": words.next().removesuffix(":")}
    for keyword, name in (("for", "gpu_type"), ("against", "expected_revision")):
        if (value := words.after(keyword)) is not None:
            data[name] = value
    if (effective := words.time_after("from")) is not None:
        data["effective_at"] = said.t(effective)
    data["children"] = []
    for child, line in words.pairs().items():
        percent, _, limit = line.partition("<=")
        slots = {"slot_limit_milli": int(1000 * Fraction(limit))} if limit else {}
        data["children"].append({"child": child, "share_percent": percent} | slots)
    if words.flag("backdated"):
        words.flag("because")
        data |= {"backdated": True, "reason": words.rest()}
    data.setdefault("expected_revision", revisions[data.get("gpu_type"), data["parent"]])
    return "shares.set", data


def _grant(words: Words) -> Told:
    data: dict[str, Any] = {"author": "ann", "account": words.next(), "amount_gpu_ms": amount(words.next())}
    data["gpu_type"] = words.next()
    for keyword, name in (("from", "since"), ("until", "until")):
        data[name] = said.t(words.time_after(keyword) or "")
    return "grant.made", data


def _policy(words: Words) -> Told:
    data: dict[str, Any] = {"author": "ann", **words.pairs()}
    if (opens := words.time_after("opens")) is not None:
        data["opens_at"] = said.t(opens)
    return "policy.set", data


def _idle(words: Words) -> Told:
    return "gpu.idle_observed", named(words.next()) | {"since": said.t(words.time_after("since") or "")}


def _reassign(words: Words) -> Told:
    return "run.reassigned", named(words.next()) | {"author": "ann", "account": words.after("to")}


def _plan(words: Words) -> Told:
    """`plan P for ask of lab/a takes j1/1 j2/1`; names of runs are `job/attempt`."""
    name, mode = words.next(), "observe" if words.flag("observing") else "enforce"
    job, account = words.after("for"), words.after("of") or "lab/a"
    words.flag("takes")
    runs = words.rest().split()
    asker = {"job": job, "account": account, "pieces": 1, "piece_milli": 4000, "min_runtime_s": HOUR_S}
    yields: dict[str, Any] = {"protection": "unfunded", "rule": "R0", "gpus_milli": 4000, "lost_gpu_ms": 0}
    return "plan.committed", {
        "plan": name,
        "pool": "h100",
        "mode": mode,
        "seq": 1 << 40,
        "rule": "R0",
        "grace_s": 120,
        "hold_s": 300,
        "purpose": "asker" if job else "drain",
        "asker": asker if job else None,
        "victims": [named(run) | yields | {"resumable": True} for run in runs],
        "hosts": [{"node": "n1", "gpus_milli": 4000}],
    }


def _order(words: Words) -> Told:
    run = named(words.next())
    return "preemption.issued", run | {"plan": words.after("by"), "how": words.next(), "grace_s": 120}


def _settle(words: Words) -> Told:
    run = named(words.next())
    return "preemption.settled", run | {"plan": words.after("by"), "outcome": words.next()}


def _hold(words: Words) -> Told:
    nodes, until = placements(words), words.time_after("until")
    return "capacity.held", {"plan": words.after("by"), "nodes": nodes, "until": said.t(until or "")}


def _over(words: Words) -> Told:
    wasted = words.after("wasted")
    return "plan.expired", {"plan": words.next(), "why": words.next(), "wasted_gpu_ms": amount(wasted or "0")}


VERBS: dict[str, Callable[[Words], Told]] = {
    "node": _node,
    "submit": _submit,
    "update": _update,
    "start": _start,
    "suspend": _suspend,
    "resume": lambda words: ("job.resumed", named(words.next())),
    "checkpoint": lambda words: ("job.checkpointed", named(words.next())),
    "end": _end,
    "run": _run,
    "grant": _grant,
    "policy": _policy,
    "idle": _idle,
    "reassign": _reassign,
    "plan": _plan,
    "order": _order,
    "settle": _settle,
    "hold": _hold,
    "over": _over,
}


# ---------------------------------------------------------------------- a timeline and what is expected of it


@dataclass
class Timeline:
    """One book, told line by line."""

    title: str
    book: Folded = field(default_factory=Folded)
    log: list[Any] = field(default_factory=list)
    outcome: Outcome | None = None
    revisions: dict[tuple[str | None, str], int] = field(default_factory=lambda: defaultdict(int))
    remarks: list[str] = field(default_factory=list)

    def tell(self, line: str) -> None:
        """`WHEN [of WHEN] sentence`."""
        when = TIME.match(line)
        if when is None:
            raise ValueError("a line begins with a time, `expect`, `==` or `#`")
        rest = line[when.end() :].strip()
        happened = when[0]
        if rest.startswith("of "):
            found = TIME.match(rest, 3)
            if found is None:
                raise ValueError("a time follows `of`")
            happened, rest = found[0], rest[found.end() :].strip()
        words = Words(rest)
        verb = words.next()
        if verb == "again":
            words.done()
            for event in list(self.log):
                self.fold(event.model_copy(update={"recordedtime": said.t(when[0])}))
            return
        kind: str
        data: dict[str, Any]
        if verb == "tick":
            kind, data = "clock.ticked", {"at": said.t(happened)}
        elif verb == "shares":
            kind, data = _shares(words, self.revisions)
        elif verb in VERBS:
            kind, data = VERBS[verb](words)
        else:
            raise ValueError(f"does not know the verb {verb!r}")
        words.done()
        if kind == "plan.committed":
            data["at"] = said.t(happened)
        self.fold(said.say(kind, happened, id=_id_of_act(kind, data), recorded=when[0], **data))
        if kind == "shares.set" and isinstance(self.outcome, Applied):
            self.revisions[data.get("gpu_type"), data["parent"]] += 1

    def fold(self, event: Any) -> None:
        before = set(self.book.tables[Remark])
        self.outcome = self.book.fold(event)
        self.remarks = [row.name for key, row in self.book.tables[Remark].items() if key not in before]
        self.log.append(event)
        self.book.check(at_most=HOURS_CHECKED)

    # ------------------------------------------------------------------ expectations

    def expect(self, text: str, others: dict[str, Timeline]) -> None:
        words = Words(text)
        match words.next():
            case "applied":
                self._equal("the outcome", self.outcome, Applied())
            case "repeated":
                self._equal("the outcome", self.outcome, Repeated())
            case "refused":
                name = self.outcome.name if isinstance(self.outcome, Refused) else self.outcome
                self._equal("the outcome", name, words.next())
            case "remark":
                self._equal("the remarks", self.remarks, [words.next()])
            case "hour":
                self._hour(_hour_of(words), words)
            case "total":
                self._total(words)
            case "run":
                self._run(words)
            case "runs":
                self._equal("the number of runs", len(self._runs_of(words.next())), int(words.next()))
            case "job":
                self._job(words)
            case "plan":
                self._fields(self.book.tables[Plan][words.next(),], words)
            case "preemption":
                job, _, attempt = words.next().partition("/")
                self._fields(self.book.tables[Preemption][words.after("by"), job, attempt], words)
            case "book":
                self._same_as(others[words.rest()])
            case what:
                raise ValueError(f"does not know what {what!r} to expect")
        words.done()

    @staticmethod
    def _equal(what: str, got: object, want: object) -> None:
        if got != want:
            raise AssertionError(f"{what}: the book says {got}, expected {want}")

    def _columns(self, row: Any, words: Words, what: str) -> None:
        """`charged 2 demand 3.5`: each column against the row, which may not exist where all is zero."""
        while words.words:
            column = words.next()
            want = amount(words.next())
            got = 0 if row is None else getattr(row, f"{column}_gpu_ms")
            if got != want:
                hours = Fraction(got, GPU_HOUR_MS)
                raise AssertionError(f"{what} {column}: the book says {hours} GPU-hours ({float(hours):g})")

    def _hour(self, hour_s: int, words: Words) -> None:
        subject = words.next()
        if subject == "node":
            node = words.next()
            table = self.book.latest(NodeHour, "hour_s", "node")
            self._columns(table.get((hour_s, node)), words, node)
        elif subject == "pool":
            pool = words.next()
            table = self.book.latest(ClusterHour, "hour_s", "pool")
            self._columns(table.get((hour_s, pool)), words, pool)
        else:
            account = "" if subject == "nobody" else subject
            pool_of = words.after("in")
            table = self.book.latest(AccountHour, "hour_s", "account", "pool")
            found = [r for (h, a, p), r in table.items() if (h, a) == (hour_s, account) and pool_of in {None, p}]
            if len(found) > 1:
                raise ValueError(f"{account} has hours in several pools: say `in POOL`")
            self._columns(found[0] if found else None, words, subject)

    def _total(self, words: Words) -> None:
        account, column, want = words.next(), words.next(), amount(words.next())
        table = self.book.latest(AccountHour, "hour_s", "account", "pool")
        got = sum(getattr(row, f"{column}_gpu_ms") for (_, name, _), row in table.items() if name == account)
        self._equal(f"{account} {column} in all, GPU-ms", got, want)

    def _runs_of(self, job: str) -> list[Run]:
        return [row for row in self.book.tables[Run].values() if row.job == job]

    def _run(self, words: Words) -> None:
        job, _, attempt = words.next().partition("/")
        found = [row for row in self._runs_of(job) if row.attempt == attempt]
        if not found:
            raise AssertionError(f"there is no run {job}/{attempt}")
        self._fields(found[0], words)

    def _job(self, words: Words) -> None:
        self._fields(self.book.tables[Job][words.next(),], words)

    def _fields(self, row: Run | Job | Plan | Preemption, words: Words) -> None:
        """`ended 08:40 outcome succeeded running 30min funded yes`; `never` is an instant that is not there."""
        while words.words:
            name = words.next()
            if name == "flag":
                if words.words[0] not in row.flags:  # type: ignore[union-attr]
                    raise AssertionError(f"flags: the book says {row.flags}")  # type: ignore[union-attr]
                words.next()
                continue
            column = next(c for c in (name, f"{name}_s", f"{name}_gpu_ms") if c in row._fields)
            got, want = getattr(row, column), self._value(column, words)
            self._equal(name, got, want)

    @staticmethod
    def _value(column: str, words: Words) -> object:
        word = words.next()
        if word == "day":
            word = f"day {words.next()} {words.next()}"
        if word in {"yes", "no"}:
            return word == "yes"
        if word in {"never", "nothing"}:
            return None if word == "never" else ""
        if TIME.fullmatch(word):
            return said.s(word)
        if column.endswith("_gpu_ms"):
            return amount(word)
        if SPAN.match(word):
            return seconds(word)
        return int(word) if word.isdigit() else word

    def _same_as(self, other: Timeline) -> None:
        self._equal("the facts hash", self.book.hash_from_scratch(), other.book.hash_from_scratch())
        self._equal("the net postings", self.book.net(), other.book.net())
        self._equal("the runs", self.book.current(Run), other.book.current(Run))


def _id_of_act(kind: str, data: dict[str, Any]) -> str | None:
    """A step of the enforcer is known by its plan and run, whenever it is said."""
    if kind in {"plan.committed", "plan.expired", "capacity.held"} or kind.startswith("preemption."):
        return "/".join((data["plan"], kind, data.get("job", ""), data.get("attempt", "")))
    return None


def _hour_of(words: Words) -> int:
    word = words.next()
    if word == "day":
        word = f"day {words.next()} {words.next()}"
    return epoch_s(said.t(word))


def play(lines: Iterable[str], name: str) -> dict[str, Timeline]:
    """Tell all timelines of a text; raises WrongScenario with the line at fault."""
    told: dict[str, Timeline] = {}
    now: Timeline | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("=="):
            now = told[line.strip("= ")] = Timeline(line.strip("= "))
            continue
        if now is None:
            raise WrongScenario(f"{name}:{number}: a timeline begins with a line `== title`")
        try:
            if line.startswith("expect "):
                now.expect(line.removeprefix("expect "), told)
            else:
                now.tell(line)
        except (ValueError, AssertionError, KeyError, StopIteration) as why:
            raise WrongScenario(f"{name}:{number}: {line}\n  {why}") from why
    return told
