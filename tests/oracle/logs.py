"""Random logs of one cluster: for hypothesis (`logs`, `shuffled`, `with_repeats`) and from a seed.

One builder serves both: it only asks a `Dice` for whole numbers. A log is a list of events in log order with
ascending `recordedtime`, all of them acceptable, with a last tick that closes every hour.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from ledger.events import EVENT, Event
from ledger.units import HOUR_S, epoch_s

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[int]], int]

CLUSTER = "c"
T0 = datetime(2026, 3, 2, tzinfo=UTC)
"""Where the window begins."""
MINUTE_S = 60
LATEST_FUTURE_S = HOUR_S
"""How far an event's time may be ahead of its `recordedtime` before it counts as from the future."""

OBSERVATIONS = (
    "tenure.node.observed.v1",
    "tenure.node.removed.v1",
    "tenure.job.submitted.v1",
    "tenure.job.updated.v1",
    "tenure.job.started.v1",
    "tenure.job.suspended.v1",
    "tenure.job.resumed.v1",
    "tenure.job.checkpointed.v1",
    "tenure.job.ended.v1",
    "tenure.run.observed.v1",
    "tenure.gpu.idle_observed.v1",
)
OUTCOMES = (
    *("succeeded", "node_failure", "preempted", "requeued"),
    *("node_failure", "node_failure", "node_failure"),
    "failed",
    "cancelled",
    "timeout",
    "out_of_memory",
)
ACCOUNTS = (
    *("lab/x/p", "lab/x/p", "lab/y", "lab/y", "lab/x", "lab/x", "lab/x/q"),
    *("lab", "lab/x/.", "lab/y/z", "ghost", None),
)
MIN_RUNTIMES_S = (HOUR_S, 600, 2 * HOUR_S, HOUR_S, 600, 5 * HOUR_S, 8 * HOUR_S, 0, 9 * HOUR_S)
SPLITS = (
    *(("60", "30"), ("33.333333", "66.666666"), ("12.5", "25"), ("50", "50")),
    *(("60", "30"), ("0.000001", "7"), ("7", "41.3"), ("0", "100")),
)


class Dice:
    """Chance as whole numbers; 0 is the dullest throw."""

    def between(self, low: int, high: int) -> int:
        raise NotImplementedError

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]


class DrawnDice(Dice):
    """Hypothesis throws, so it can shrink."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def between(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


class SeededDice(Dice):
    """A seed throws."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def between(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


class Draft(NamedTuple):
    """An event to be: when it arrives, its type, its time and its data."""

    arrives: datetime
    type: str
    time: datetime
    data: dict[str, Any]
    id: str = ""


class Pause(NamedTuple):
    since: datetime
    until: datetime | None
    releases: bool


class Truth(NamedTuple):
    """What really happened to an attempt, before anybody reports it."""

    job: str
    attempt: str
    start: datetime
    end: datetime | None
    outcome: str
    placements: list[dict[str, Any]]
    pauses: list[Pause]
    terms: dict[str, Any]


class Builder:
    """Throws one log of `hours` hours."""

    def __init__(self, dice: Dice, *, hours: int, nodes: int, jobs: int) -> None:
        self.dice = dice
        self.until = T0 + timedelta(hours=hours)
        self.closing = self.until + timedelta(seconds=dice.between(300, 2 * HOUR_S))
        self.jobs = jobs
        self.drafts: list[Draft] = []
        self.attempts: list[tuple[str, str]] = []
        types = ("a100", "h100") if dice.chance(50) else ("a100",)
        self.nodes = {f"n{n}": (dice.pick(types), 1000 * dice.between(2, 8)) for n in range(1, nodes + 1)}

    def log(self) -> list[Event]:
        self.policy()
        self.shares()
        for node in self.nodes:
            self.node(node)
        for n in range(1, self.jobs + 1):
            self.job(f"j{n}")
        self.grants()
        self.reassignments()
        self.acts()
        self.ticks()
        self.windows()  # last, so that the same seed tells the same without them
        return finished(self.drafts, self.closing)

    # ------------------------------------------------------------------ time and drafts

    def when(self, low: datetime, high: datetime) -> datetime:
        """An instant in [low, high]: often on the half hour, sometimes between two seconds."""
        span_s = max(0, epoch_s(high) - epoch_s(low))
        at = low.replace(microsecond=0) + timedelta(seconds=self.dice.between(0, span_s))
        if self.dice.chance(25):
            at -= timedelta(seconds=epoch_s(at) % (HOUR_S // 2))
        if self.dice.chance(20):
            at += timedelta(microseconds=self.dice.pick((1, 250_000, 999_999)))
        return min(max(at, low), high)

    def after(self, low: datetime, up_to_s: int) -> datetime:
        return self.when(low, max(low, min(self.until, low + timedelta(seconds=up_to_s))))

    def observe(self, type: str, time: datetime, **data: Any) -> None:
        """An observation, which arrives at once or late."""
        late_s = self.dice.between(0, self.dice.pick((0, 30, MINUTE_S, HOUR_S, 6 * HOUR_S)))
        arrives = max(time, min(self.closing, time + timedelta(seconds=late_s)))
        self.drafts.append(Draft(arrives, type, time, data))

    def decide(self, type: str, time: datetime, **data: Any) -> None:
        """A decision, which is recorded when it is taken."""
        self.drafts.append(Draft(time, type, time, {"author": "ann"} | data))

    # ------------------------------------------------------------------ decisions

    def policy(self) -> None:
        opens_at = T0 + timedelta(hours=1) if self.dice.chance(10) else T0
        self.decide("tenure.policy.set.v1", T0 - timedelta(hours=4), opens_at=opens_at)
        for _ in range(self.dice.between(0, 2)):
            change: dict[str, Any] = self.dice.pick(
                (
                    {"max_min_runtime_s": 2 * HOUR_S},
                    {"max_min_runtime_s": 10 * HOUR_S},
                    {"window_h": 24},
                    {"horizon_h": 48},
                    {"ranking": "decay", "half_life_h": 24},
                )
            )
            self.decide("tenure.policy.set.v1", self.when(T0, self.until), **change)

    def shares(self) -> None:
        first = T0 - timedelta(hours=3)
        self.share_set("lab", ("x", "y"), first, {})
        self.share_set("lab/x", ("p", "q"), first, {})
        for _ in range(self.dice.between(0, 4)):
            parent, children = self.dice.pick(
                (("lab", ("x", "y")), ("lab/x", ("p", "q")), ("lab/y", ("z", "w")), ("lab/x/p", ("r", "s")))
            )
            extra: dict[str, Any] = {}
            at = self.when(T0, self.until)
            if self.dice.chance(30):
                extra["gpu_type"] = "a100"
            if self.dice.chance(40):
                extra |= {"backdated": True, "reason": "agreed earlier"}
                extra["effective_at"] = self.when(at - timedelta(hours=6), at)
            elif self.dice.chance(30):
                extra["effective_at"] = self.after(at, 3 * HOUR_S)
            self.share_set(parent, children, at, extra)

    def share_set(self, parent: str, children: tuple[str, ...], at: datetime, extra: dict[str, Any]) -> None:
        split = self.dice.pick(SPLITS)
        lines: list[dict[str, Any]] = []
        for child, percent in zip(children, split, strict=True):
            lines.append({"child": child, "share_percent": percent})
            if self.dice.chance(25):
                lines[-1]["slot_limit_milli"] = self.dice.pick((4000, 2000, 1000, 500))
        if sum(float(percent) for percent in split) <= 95 and self.dice.chance(30):
            lines.append({"child": ".", "share_percent": self.dice.pick(("5", "0"))})
        if self.dice.chance(10):
            lines.pop()
        self.decide("tenure.shares.set.v1", at, parent=parent, children=lines, **extra)

    def grants(self) -> None:
        for _ in range(self.dice.between(0, 2)):
            since = self.when(T0 - timedelta(hours=2), self.until)
            self.decide(
                "tenure.grant.made.v1",
                self.when(T0, self.until),
                account=self.dice.pick(("lab/y", "lab/x", "lab/x/q", "ghost", "lab")),
                gpu_type=self.dice.pick(("a100", "h100")),
                amount_gpu_ms=self.dice.pick((1, 3_600_001, 40_000_003, 100)),
                since=since,
                until=since + timedelta(seconds=self.dice.between(1, 8 * HOUR_S)),
            )

    def windows(self) -> None:
        """Maintenance, which books nothing."""
        for _ in range(self.dice.between(1, 2)):
            since = self.when(T0, self.until)
            self.decide(
                "tenure.maintenance.planned.v1",
                self.when(T0, self.until),
                window=self.dice.pick(("w", "v")),
                nodes=[self.dice.pick(tuple(self.nodes))],
                since=since,
                until=since + timedelta(seconds=self.dice.between(1, 8 * HOUR_S)),
                cancelled=self.dice.chance(20),
            )

    def reassignments(self) -> None:
        if self.attempts and self.dice.chance(30):
            for _ in range(self.dice.between(1, 2)):
                job, attempt = self.dice.pick(self.attempts)
                account = self.dice.pick([account for account in ACCOUNTS if account is not None])
                self.decide(
                    "tenure.run.reassigned.v1",
                    self.when(T0 + timedelta(hours=6), self.until),
                    job=job,
                    attempt=attempt,
                    account=account,
                )

    def acts(self) -> None:
        """Plans and what came of them; those that name a run, or a job, another open plan names are refused."""
        for n in range(self.dice.pick((0, 0, 1, 2, 4))):
            if self.attempts:
                self.plan(f"a100/{n}/j1")

    def plan(self, name: str) -> None:
        at = self.when(T0, self.until)
        mode = self.dice.pick(("enforce", "enforce", "enforce", "observe"))
        runs = sorted({self.dice.pick(self.attempts) for _ in range(self.dice.between(1, 3))})
        asker = self.dice.pick((None, {"job": "j1"}, {"job": "asker"}))
        self.act(
            "plan.committed",
            name,
            at,
            plan=name,
            pool="a100",
            purpose="drain" if asker is None else "asker",
            mode=mode,
            seq=1 << 40,
            at=at,
            asker=asker and asker | {"account": "lab/y", "pieces": 1, "piece_milli": 1000, "min_runtime_s": HOUR_S},
            victims=[
                {
                    "job": job,
                    "attempt": attempt,
                    "protection": "unfunded",
                    "rule": "R0",
                    "gpus_milli": 1000,
                    "lost_gpu_ms": 0,
                    "resumable": False,
                }
                for job, attempt in runs
            ],
            hosts=[{"node": "n1", "gpus_milli": 1000}],
            rule="R0",
            sentences=["so it is"],
            grace_s=60,
            hold_s=300,
        )
        for job, attempt in runs:
            if self.dice.chance(80):
                self.order(name, at, job, attempt)
        if self.dice.chance(30):
            nodes = [{"node": "n1", "gpus_milli": 1000}]
            self.act("capacity.held", f"{name}/held", self.after(at, HOUR_S), plan=name, nodes=nodes, until=self.until)
        if self.dice.chance(60):
            why = self.dice.pick(("asker_started", "hold_expired"))
            self.act("plan.expired", f"{name}/expired", self.after(at, 2 * HOUR_S), plan=name, why=why, wasted_gpu_ms=7)

    def order(self, name: str, at: datetime, job: str, attempt: str) -> None:
        run = {"plan": name, "job": job, "attempt": attempt}
        ids = f"{job}/{attempt}"
        at = self.after(at, self.dice.pick((0, 1, 4 * HOUR_S)))
        self.act("preemption.issued", f"{name}/issued/{ids}", at, **run, how="requeue", grace_s=60)
        if self.dice.chance(50):
            outcome = self.dice.pick(("preempted", "refused", "timed_out"))
            self.act("preemption.settled", f"{name}/settled/{ids}", self.after(at, HOUR_S), **run, outcome=outcome)
        if self.dice.chance(60):
            end = at + timedelta(seconds=self.dice.between(-8, 90))
            outcome = self.dice.pick(("requeued", "cancelled", "failed", "timeout", "succeeded", "node_failure"))
            named = {"job": job, "attempt": attempt} if self.dice.chance(80) else {"job": job}
            self.observe("tenure.job.ended.v1", min(end, self.closing), **named, outcome=outcome)

    def act(self, kind: str, id: str, when: datetime, /, **data: Any) -> None:
        """A step of the enforcer, under its own id."""
        self.drafts.append(Draft(when, f"tenure.{kind}.v1", when, data, id))

    def ticks(self) -> None:
        for _ in range(self.dice.between(0, 8)):
            at = self.when(T0, self.until)
            self.drafts.append(Draft(at, "tenure.clock.ticked.v1", at, {"at": at}))

    # ------------------------------------------------------------------ nodes

    def node(self, node: str) -> None:
        gpu_type, milli = self.nodes[node]
        at = T0 + timedelta(seconds=self.dice.between(0, 5)) - timedelta(seconds=3)
        if self.dice.chance(15):
            at = self.when(T0, self.until)
        self.observe_node(node, at, gpu_type, milli, "available")
        for _ in range(self.dice.between(0, 4)):
            at = self.when(T0, self.until)
            if self.dice.chance(15):
                self.observe("tenure.node.removed.v1", at, node=node)
                continue
            now = self.dice.pick((milli, milli, milli - 1000, milli + 2000, 0))
            state = self.dice.pick(("down", "available", "draining", "planned_down"))
            self.observe_node(node, at, gpu_type, now, state)

    def observe_node(self, node: str, at: datetime, gpu_type: str, milli: int, state: str) -> None:
        self.observe("tenure.node.observed.v1", at, node=node, gpu_type=gpu_type, gpus_milli=milli, state=state)

    # ------------------------------------------------------------------ jobs

    def job(self, job: str) -> None:
        """A job as a scheduler's events tell it, as an accounting system's records tell it, or both."""
        events, records = self.dice.pick(((True, False), (False, True), (True, True)))
        terms = self.terms()
        submitted = self.when(T0 - timedelta(hours=2), self.until - timedelta(hours=2))
        if events:
            self.submissions(job, submitted, terms)
        ready, truth = submitted, None
        for n in range(1, self.dice.pick((1, 1, 2, 0, 3)) + 1):
            truth = self.truth(job, f"{job}.{n}", self.after(ready, 3 * HOUR_S), terms)
            self.attempts.append((job, truth.attempt))
            if events:
                self.tell(truth)
            if records:
                self.poll(truth, ready)
            self.about(truth)
            if truth.end is None:
                break
            ready = truth.end
        if truth is None and self.dice.chance(40):
            self.observe("tenure.job.ended.v1", self.after(submitted, 6 * HOUR_S), job=job, outcome="cancelled")

    def terms(self) -> dict[str, Any]:
        return {
            "user": self.dice.pick(("ann", "bob")),
            "account": self.dice.pick(ACCOUNTS),
            "gpu_type": self.dice.pick((None, "a100", "h100")),
            "min_runtime_s": self.dice.pick(MIN_RUNTIMES_S),
            "resumable": self.dice.chance(50),
        }

    def submissions(self, job: str, submitted: datetime, terms: dict[str, Any]) -> None:
        asked: dict[str, Any] = {"gpus_milli": self.dice.pick((1000, 2000, 500, 4000, 9000, 143, 0))}
        if self.dice.chance(40):
            each = self.dice.pick((1000, 2000, 500, 9000))
            nodes = self.dice.between(1, 3)
            asked = {"gpus_milli": nodes * each, "shape": {"nodes": nodes, "gpus_per_node_milli": each}}
        if self.dice.chance(20):
            asked["eligible_from"] = self.after(submitted, 2 * HOUR_S)
        if self.dice.chance(15):
            asked["held"] = True
        self.observe("tenure.job.submitted.v1", submitted, job=job, **terms, **asked)
        if self.dice.chance(10):
            again = terms | {"account": self.dice.pick(ACCOUNTS)}
            self.observe("tenure.job.submitted.v1", self.after(submitted, HOUR_S), job=job, **again, **asked)
        for _ in range(self.dice.pick((0, 0, 1, 2))):
            at = self.after(submitted, 4 * HOUR_S)
            change: dict[str, Any] = self.dice.pick(
                (
                    {"held": False},
                    {"held": True},
                    {"account": self.dice.pick(ACCOUNTS[:-1])},
                    {"min_runtime_s": self.dice.pick(MIN_RUNTIMES_S)},
                    {"gpus_milli": self.dice.pick((3000, 100)), "resumable": True},
                    {"eligible_from": self.after(at, 2 * HOUR_S)},
                    {"gpu_type": "a100"},
                )
            )
            self.observe("tenure.job.updated.v1", at, job=job, **change)

    # ------------------------------------------------------------------ attempts

    def truth(self, job: str, attempt: str, start: datetime, terms: dict[str, Any]) -> Truth:
        end = self.after(start, 7 * HOUR_S) if self.dice.chance(75) else None
        last = end or self.until
        pauses: list[Pause] = []
        at = start
        for _ in range(self.dice.pick((0, 0, 1, 2, 3))):
            since = self.when(at, last)
            until = self.when(since, last)
            lasts = self.dice.chance(10)
            if since < until:
                pauses.append(Pause(since, None if lasts else until, self.dice.chance(40)))
            if lasts:
                break
            at = until
        return Truth(job, attempt, start, end, self.dice.pick(OUTCOMES), self.placements(), pauses, terms)

    def placements(self) -> list[dict[str, Any]]:
        known = list(self.nodes)
        found = []
        for _ in range(self.dice.pick((1, 1, 2, 3))):
            node = "nowhere" if self.dice.chance(7) else self.dice.pick(known)
            found.append({"node": node, "gpus_milli": self.dice.pick((1000, 2000, 500, 4000, 143, 9000))})
        return found

    def name(self, truth: Truth) -> dict[str, str]:
        return {"job": truth.job, "attempt": truth.attempt}

    def tell(self, truth: Truth) -> None:
        """The attempt as a scheduler's events."""
        name = self.name(truth)
        self.observe("tenure.job.started.v1", truth.start, **name, placements=truth.placements)
        if self.dice.chance(10):
            again = self.after(truth.start, HOUR_S)
            self.observe("tenure.job.started.v1", again, **name, placements=self.placements())
        for pause in truth.pauses:
            if not self.dice.chance(10):
                self.observe("tenure.job.suspended.v1", pause.since, **name, releases_gpus=pause.releases)
            if pause.until is not None:
                self.observe("tenure.job.resumed.v1", pause.until, **name)
        if truth.end is not None:
            self.tell_end(truth, truth.end)

    def tell_end(self, truth: Truth, end: datetime) -> None:
        if self.dice.chance(7):
            end = self.when(truth.start - timedelta(hours=1), truth.start)
        named = self.dice.pick((self.name(truth), self.name(truth), {"job": truth.job}, None))
        if named is not None:
            self.observe("tenure.job.ended.v1", end, **named, outcome=truth.outcome, exit_code=0)
        if named is not None and self.dice.chance(10):
            again = self.after(end, HOUR_S)
            self.observe("tenure.job.ended.v1", again, **named, outcome=self.dice.pick(OUTCOMES))

    def about(self, truth: Truth) -> None:
        name = self.name(truth)
        for _ in range(self.dice.pick((0, 0, 1, 2))):
            self.observe("tenure.job.checkpointed.v1", self.after(truth.start, 6 * HOUR_S), **name)
        if self.dice.chance(15):
            since = self.after(truth.start, 2 * HOUR_S)
            self.observe("tenure.gpu.idle_observed.v1", self.after(since, HOUR_S), **name, since=since)

    def poll(self, truth: Truth, ready: datetime) -> None:
        """The attempt as an accounting system's records, seen once or several times; the last may lag."""
        queued: dict[str, Any] = {}
        if self.dice.chance(60):
            queued["submitted_at"] = ready
        if self.dice.chance(30):
            queued["eligible_at"] = self.after(ready, HOUR_S)
        bare = self.dice.chance(25)
        for _ in range(self.dice.between(1, 3)):
            self.statement(truth, self.after(truth.start, 9 * HOUR_S), queued, bare=bare)
        if truth.end is not None and self.dice.chance(60):
            self.statement(truth, truth.end, queued, bare=bare)

    def statement(self, truth: Truth, at: datetime, queued: dict[str, Any], *, bare: bool) -> None:
        """One full statement as of `at`."""
        seen_end = truth.end is not None and at >= truth.end and not self.dice.chance(15)
        start = truth.start if self.dice.chance(95) else self.after(truth.start, HOUR_S)
        data: dict[str, Any] = self.name(truth) | truth.terms | queued
        data |= {"started_at": start, "placements": truth.placements}
        if seen_end and truth.end is not None:
            end = truth.end if self.dice.chance(90) else self.after(truth.end, HOUR_S)
            data |= {"ended_at": max(start, end), "exit_code": 0}
            data["outcome"] = truth.outcome if self.dice.chance(90) else None
        if bare:
            data["suspended_s"] = self.dice.between(0, 3 * HOUR_S)
        elif self.dice.chance(80):
            data["suspensions"] = [self.interval(p, at) for p in truth.pauses if p.since <= at]
        self.observe("tenure.run.observed.v1", at, **data)

    def interval(self, pause: Pause, at: datetime) -> dict[str, Any]:
        """A pause as known at `at`; now and then it is said to last longer, into the next one."""
        interval: dict[str, Any] = {"since": pause.since, "releases_gpus": pause.releases}
        if pause.until is not None and pause.until <= at:
            interval["until"] = self.when(pause.until, at) if self.dice.chance(15) else pause.until
        return interval


# ---------------------------------------------------------------------- logs


def finished(drafts: list[Draft], closing: datetime) -> list[Event]:
    """The events in the order they arrive, revisions counted, and the tick that closes every hour."""
    revisions: dict[tuple[str | None, str], int] = {}
    log = []
    for n, draft in enumerate(sorted(drafts, key=lambda draft: draft.arrives), start=1):
        data = {"cluster": CLUSTER} | draft.data
        if draft.type == "tenure.shares.set.v1":
            key = (data.get("gpu_type"), data["parent"])
            data["expected_revision"] = revisions.get(key, 0)
            revisions[key] = data["expected_revision"] + 1
        log.append(event(draft.type, draft.id or f"e{n}", draft.time, draft.arrives, data))
    last = {"cluster": CLUSTER, "at": closing}
    return [*log, event("tenure.clock.ticked.v1", "last-tick", closing, closing, last)]


def event(type: str, id: str, time: datetime, recorded: datetime, data: dict[str, Any]) -> Event:
    """One event, validated as if it had come in."""
    source = {"job": "slurm", "run": "slurm", "nod": "slurm", "gpu": "dcgm"}.get(type[7:10], "people")
    if source == "slurm" and int(id.removeprefix("e")) % 5 == 0:
        source = "beaker"
    envelope = {"type": type, "id": id, "source": source, "time": time, "recordedtime": recorded}
    return EVENT.validate_python(envelope | {"data": data})


def build(dice: Dice, *, hours: int, nodes: int, jobs: int) -> list[Event]:
    return Builder(dice, hours=hours, nodes=nodes, jobs=jobs).log()


@st.composite
def logs(draw: Draw) -> list[Event]:
    """A log of twelve hours: 2-4 nodes, 1-6 jobs."""
    dice = DrawnDice(draw)
    return build(dice, hours=12, nodes=dice.between(2, 4), jobs=dice.between(1, 6))


def seeded_log(seed: int, *, hours: int = 24, nodes: int = 8, jobs: int = 45) -> list[Event]:
    """A log from a seed, about 400 events by default."""
    return build(SeededDice(seed), hours=hours, nodes=nodes, jobs=jobs)


def accepted(log: Sequence[Event]) -> list[tuple[Event, int]]:
    """The log as `Naive` wants it: (event, recorded_s)."""
    return [(one, epoch_s(recorded(one))) for one in log]


def recorded(one: Event) -> datetime:
    assert one.recordedtime is not None
    return one.recordedtime


def is_observation(one: Event) -> bool:
    return one.type in OBSERVATIONS


def shuffled(log: Sequence[Event], draw: Draw | Dice) -> list[Event]:
    """The same log with the observations in another order; decisions and ticks keep theirs.

    Observations change places among themselves, or all come after the decisions. None is recorded more than a
    minute before it happened.
    """
    dice = draw if isinstance(draw, Dice) else DrawnDice(draw)
    head, last = list(log[:-1]), log[-1]
    if dice.chance(30):
        head = sorted(head, key=is_observation)
        latest = max((recorded(one) for one in head), default=recorded(last))
        head = [at(one, latest) if is_observation(one) else one for one in head]
    waiting = [one for one in head if is_observation(one)]
    result = []
    for slot in head:
        if is_observation(slot):
            may = [one for one in waiting if one.time <= recorded(slot) + timedelta(seconds=MINUTE_S)]
            chosen = dice.pick(may)
            waiting.remove(chosen)
            result.append(at(chosen, recorded(slot)))
        else:
            result.append(slot)
    return [*result, last]


def with_repeats(log: Sequence[Event], draw: Draw | Dice) -> list[Event]:
    """The same log with about a third of the events sent again, at once or later; the last tick is last."""
    dice = draw if isinstance(draw, Dice) else DrawnDice(draw)
    result, last = list(log[:-1]), log[-1]
    for one in log[:-1]:
        if dice.chance(33):
            first = next(n for n, other in enumerate(result) if other.id == one.id)
            n = dice.between(first, len(result) - 1)
            result.insert(n + 1, at(one, recorded(result[n])))
    return [*result, last]


def at(one: Event, when: datetime) -> Event:
    """The same event, recorded at another time."""
    return one.model_copy(update={"recordedtime": when})
