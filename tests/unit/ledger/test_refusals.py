"""Bad input, one row a kind: what is said, how it is taken, and what the sentence must tell a person.

A refusal changes nothing. What is taken with a remark is booked, and the book still equals the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from ledger.decisions import JUDGED, DecisionEvent
from ledger.events import EVENT, Act
from ledger.facts import records
from ledger.outcomes import Applied, RefusalName, Refused, Repeated
from ledger.rows import Remark, Run
from tests.support.folded import Folded
from tests.support.said import (
    checkpointed,
    committed,
    ended,
    expired,
    grant,
    held,
    issued,
    node,
    opens,
    policy,
    reassigned,
    run,
    s,
    say,
    shares,
    small_cluster,
    started,
    submitted,
    suspended,
    t,
    tick,
    updated,
)

# ---------------------------------------------------------------------- refused: nothing changes


@dataclass(frozen=True)
class Case:
    """After `before`, the last event said is refused under `name` with a sentence that has these words."""

    about: str
    name: RefusalName
    before: list[Any]
    said: Any
    words: tuple[str, ...]


CLOSED = [*small_cluster(), started("08:00", "old"), ended("09:00", "old"), tick("10:05")]
"""Hours 08 and 09 are closed."""

FORTY_DAYS = [*small_cluster(), run("09:00", "old", start="08:00", end="09:00"), tick("10:05"), tick("day 41 10:05")]
"""The first hour kept is day 6 10:00."""

RUNNING = [*small_cluster(), started("08:00", "j"), started("08:00", "k")]

REFUSED = [
    Case(
        "the children hold more than the parent",
        "shares_over_100",
        small_cluster(),
        shares("08:30", "lab", {"a": 60, "b": "40.000001"}, 1),
        ("lab", "100.000001 percent", "lower them"),
    ),
    Case(
        "made against a revision that is no longer the last",
        "stale_revision",
        small_cluster(),
        shares("08:30", "lab", {"a": 50}, 0),
        ("against revision 0 of lab", "at 1", "decide again"),
    ),
    Case(
        "made against a revision that does not exist yet",
        "stale_revision",
        small_cluster(),
        shares("08:30", "lab", {"a": 50}, 2),
        ("against revision 2 of lab", "at 1"),
    ),
    Case(
        "shares of an account that has none itself",
        "unknown_parent",
        small_cluster(),
        shares("08:30", "lab/c", {"x": 50}),
        ("lab/c has no share", "the root is lab"),
    ),
    Case(
        "a second root",
        "unknown_parent",
        small_cluster(),
        shares("08:30", "firm", {"x": 50}),
        ("firm has no share", "the root is lab"),
    ),
    Case(
        "shares that begin below the root",
        "unknown_parent",
        [opens("08:00"), node("08:00")],
        shares("08:30", "lab/a", {"x": 50}),
        ("begin at the root", "set those of lab first"),
    ),
    Case(
        "shares of an own part",
        "shares_of_own_part",
        small_cluster(),
        shares("08:30", "lab/.", {"x": 50}),
        ("lab/. is an own part", "name its parent"),
    ),
    Case(
        "in force in a closed hour, and nobody says so",
        "effective_in_a_closed_hour",
        CLOSED,
        shares("10:30", "lab", {"a": 50}, 1, effective_at=t("09:59:59")),
        ("2026-03-02 09:59", "up to 2026-03-02 10:00 UTC are closed", "`backdated` with a reason"),
    ),
    Case(
        "back-dated beyond the horizon",
        "beyond_horizon",
        FORTY_DAYS,
        shares("day 41 10:06", "lab", {"a": 50}, 1, effective_at=t("day 6 09:00"), backdated=True, reason="late"),
        ("2026-03-07 09:00", "first hour still kept (2026-03-07 10:00 UTC)"),
    ),
    Case(
        "a grant that begins beyond the horizon",
        "beyond_horizon",
        FORTY_DAYS,
        grant("day 41 10:06", "lab/a", 1000, "day 6 09:00", "day 50 09:00"),
        ("grant begins 2026-03-07 09:00", "let it begin later"),
    ),
    Case(
        "an opening after the first hour was closed",
        "already_open",
        CLOSED,
        opens("09:00", said="10:30"),
        ("from 2026-03-02 08:00", "before the first hour is closed"),
    ),
    Case(
        "a second plan for an asker",
        "already_planned",
        [*RUNNING, committed("10:00", "j/1", plan="h100/1/ask")],
        committed("10:01", "k/1", plan="h100/2/ask"),
        ("ask has the open plan h100/1/ask", "wait until that is over"),
    ),
    Case(
        "a second plan that takes the same run",
        "already_ordered",
        [*RUNNING, committed("10:00", "j/1")],
        committed("10:01", "k/1", "j/1", plan="h100/2/other", job="other"),
        ("j/1 has to leave by plan h100/1/ask already", "plan anew without it"),
    ),
    Case(
        "a plan of facts that no longer hold",
        "stale_plan",
        [*RUNNING, committed("10:00", "j/1"), expired("10:01", "fits")],
        committed("10:02", "j/1", plan="h100/2/ask", seq=2),
        ("made after 2 events", "h100/1/ask was over after", "plan anew"),
    ),
    Case(
        "a plan older than the horizon",
        "beyond_horizon",
        FORTY_DAYS,
        committed("12:00", "old/1").model_copy(update={"recordedtime": t("day 41 10:06")}),
        ("what the plan was made of ends 2026-03-02 12:00",),
    ),
    Case(
        "an order by a plan nobody accepted",
        "unknown_plan",
        RUNNING,
        issued("10:01", "j/1"),
        ("no plan h100/1/ask was accepted", "commit a plan first"),
    ),
    Case(
        "an order to a run the plan does not name",
        "not_a_victim",
        [*RUNNING, committed("10:00", "j/1")],
        issued("10:01", "k/1"),
        ("h100/1/ask does not name k/1",),
    ),
    Case(
        "an order by a plan that is over",
        "plan_closed",
        [*RUNNING, committed("10:00", "j/1"), expired("10:01", "fits")],
        issued("10:02", "j/1"),
        ("h100/1/ask is over (fits)", "nothing is touched"),
    ),
    Case(
        "room held by a plan that only observes",
        "plan_closed",
        [*RUNNING, committed("10:00", "j/1", mode="observe")],
        held("10:02", "10:07"),
        ("h100/1/ask only observes",),
    ),
    Case(
        "an event from a far future",
        "from_the_future",
        small_cluster(),
        node("10:30:01", "m", recorded="09:30"),
        ("2026-03-02 10:30:01 UTC", "recorded at 2026-03-02 09:30:00 UTC", "time zone"),
    ),
    Case(
        "a run that will end in a far future",
        "from_the_future",
        small_cluster(),
        run("09:30", start="08:00", end="10:30:01"),
        ("2026-03-02 10:30:01 UTC", "check the clock"),
    ),
    Case(
        "a tick ahead of the clock",
        "from_the_future",
        small_cluster(),
        say("clock.ticked", "09:30", at=t("10:30:01")),
        ("2026-03-02 10:30:01 UTC",),
    ),
    Case(
        "a node of a clock that was never set",
        "clock_not_set",
        small_cluster(),
        node("day -20513 00:00", "m", recorded="09:30"),  # 1970-01-01
        ("1970-01-01 00:00:00 UTC", "leave it out, or set the clock"),
    ),
    Case(
        "a run that started at second 0, which means unknown",
        "clock_not_set",
        small_cluster(),
        run("09:30", start="day -20513 00:00", end="09:00"),
        ("1970-01-01 00:00:00 UTC",),
    ),
    Case(
        "an opening of a clock that was never set",
        "clock_not_set",
        [],
        opens("day -20513 00:00", said="09:00"),
        ("1970-01-01 00:00:00 UTC",),
    ),
    Case(
        "a whole run older than the horizon",
        "beyond_horizon",
        FORTY_DAYS,
        run("12:00", "other", start="11:00", end="12:00", recorded="day 41 10:06"),
        ("the run ends 2026-03-02 12:00", "a book of its own with a larger horizon"),
    ),
    Case(
        "a run seen running before the horizon, and never since",
        "beyond_horizon",
        FORTY_DAYS,
        run("12:00", "other", start="11:00", recorded="day 41 10:06"),
        ("the run ends 2026-03-02 12:00",),
    ),
    Case(
        "a start of a run the book has let go of",
        "beyond_horizon",
        FORTY_DAYS,
        started("08:00", "old", recorded="day 41 10:06"),
        ("the start ends 2026-03-02 08:00", "first hour still kept"),
    ),
    Case(
        "an end of a run the book never knew",
        "beyond_horizon",
        FORTY_DAYS,
        ended("12:00", "other", recorded="day 41 10:06"),
        ("the ended run ends 2026-03-02 12:00",),
    ),
    Case(
        "an end of a job the book never knew",
        "beyond_horizon",
        FORTY_DAYS,
        ended("12:00", "other", None, recorded="day 41 10:06"),
        ("the ended run ends 2026-03-02 12:00",),
    ),
    Case(
        "a submission of a job the book has let go of",
        "beyond_horizon",
        FORTY_DAYS,
        submitted("08:00", "old", recorded="day 41 10:06"),
        ("the submission ends 2026-03-02 08:00",),
    ),
    Case(
        "an update of it",
        "beyond_horizon",
        FORTY_DAYS,
        say("job.updated", "08:00", job="old", held=True, recorded="day 41 10:06"),
        ("the update ends 2026-03-02 08:00",),
    ),
    Case(
        "a suspension of it",
        "beyond_horizon",
        FORTY_DAYS,
        suspended("08:00", "old", recorded="day 41 10:06"),
        ("the suspension ends 2026-03-02 08:00",),
    ),
    Case(
        "a checkpoint of it",
        "beyond_horizon",
        FORTY_DAYS,
        checkpointed("08:00", "old", recorded="day 41 10:06"),
        ("the checkpoint ends 2026-03-02 08:00",),
    ),
    Case(
        "its idleness",
        "beyond_horizon",
        FORTY_DAYS,
        say("gpu.idle_observed", "08:00", job="old", attempt="1", since=t("08:00"), recorded="day 41 10:06"),
        ("the idleness ends 2026-03-02 08:00",),
    ),
    Case(
        "a node statement that was superseded before the horizon",
        "beyond_horizon",
        [*FORTY_DAYS[:3], node("09:00", gpus=8), *FORTY_DAYS[3:]],
        node("08:30", gpus=2, recorded="day 41 10:06"),
        ("the node statement's time in force ends 2026-03-02 09:00",),
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.about)
def test_what_is_refused_changes_nothing(case: Case):
    book = told(case.before)
    before = settled(book)
    outcome = book.fold(case.said)
    assert isinstance(outcome, Refused)
    assert outcome.name == case.name
    for words in case.words:
        assert words in outcome.sentence
    assert settled(book) == before
    book.check(at_most=24)
    # Sent again, it is not taken either, and again nothing changes. A decision or an act that was judged is known by
    # its id.
    judged = (isinstance(case.said, DecisionEvent) and outcome.name in JUDGED) or isinstance(case.said, Act)
    assert book.fold(case.said) == (Repeated() if judged else outcome)
    assert settled(book) == before


def told(log: list[Any]) -> Folded:
    """The book of a log that must be taken."""
    book = Folded()
    for event in log:
        assert isinstance(book.fold(event), Applied), f"meant to be taken: {event}"
    return book


def settled(book: Folded) -> Any:
    """All that a refusal must leave alone: the rows, the facts but for ids, the seq, the sums."""
    state = book.book.state
    facts = {key: repr(record) for key, record in records(state) if key != ("", "")}
    common = (state.ticked_s, state.horizon_s, state.opens_s, repr(state.shares.revisions), repr(state.grants))
    tables = {kind: dict(rows) for kind, rows in book.tables.items() if rows}
    return state.seq, tables, facts, common, repr(state.policies)


# ---------------------------------------------------------------------- refused before the book: not an event


@dataclass(frozen=True)
class Unreadable:
    about: str
    type: str
    data: dict[str, Any]
    words: str


UNREADABLE = [
    Unreadable(
        "a run that ends before it starts",
        "run.observed",
        {"started_at": t("09:00"), "ended_at": t("08:59:59")},
        "end_before_start: the run ends before it starts; correct the record at its source",
    ),
    Unreadable(
        "back-dated without a reason",
        "shares.set",
        {"backdated": True, "reason": " "},
        "a back-dated set of shares needs a reason",
    ),
    Unreadable(
        "a child named twice",
        "shares.set",
        {"children": [{"child": "a", "share_percent": "10"}, {"child": "a", "share_percent": "20"}]},
        "give each child one share",
    ),
    Unreadable("a grant that ends where it starts", "grant.made", {"until": t("08:00")}, "swap `since` and `until`"),
    Unreadable("a window that ends where it starts", "maintenance.planned", {"until": t("08:00")}, "say `cancelled`"),
    Unreadable("a window of no node", "maintenance.planned", {"nodes": []}, "at least 1 item"),
    Unreadable("a sample of no time", "gpu.sampled", {"until": t("08:00")}, "swap `since` and `until`"),
    Unreadable("an hour without a zone", "clock.ticked", {"at": "2026-03-02T08:00:00"}, "timezone"),
    Unreadable("a field nobody knows", "clock.ticked", {"when": t("08:00")}, "Extra inputs are not permitted"),
    Unreadable("less than no GPUs", "job.started", {"placements": [{"node": "n", "gpus_milli": -1}]}, "greater than 0"),
    Unreadable("a run nowhere", "job.started", {"placements": []}, "at least 1 item"),
]

SOUND: dict[str, dict[str, Any]] = {
    "run.observed": {
        "job": "j",
        "attempt": "1",
        "user": "ann",
        "started_at": t("08:00"),
        "placements": [{"node": "n", "gpus_milli": 1000}],
    },
    "shares.set": {"author": "ann", "parent": "lab", "children": [], "expected_revision": 0},
    "grant.made": {
        "author": "ann",
        "account": "lab/a",
        "gpu_type": "h100",
        "amount_gpu_ms": 1,
        "since": t("08:00"),
        "until": t("09:00"),
    },
    "maintenance.planned": {
        "author": "ann",
        "window": "w",
        "nodes": ["n"],
        "since": t("08:00"),
        "until": t("09:00"),
    },
    "gpu.sampled": {"node": "n", "since": t("08:00"), "until": t("08:01"), "gpus": []},
    "clock.ticked": {"at": t("08:00")},
    "job.started": {"job": "j", "attempt": "1", "placements": [{"node": "n", "gpus_milli": 1000}]},
}


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.about)
def test_what_is_not_an_event_says_why(case: Unreadable):
    envelope = {"type": f"tenure.{case.type}.v1", "id": "e", "source": "test", "time": t("09:00")}
    sound = {"cluster": "c"} | SOUND[case.type]
    EVENT.validate_python(envelope | {"data": sound})
    with pytest.raises(ValidationError) as wrong:
        EVENT.validate_python(envelope | {"data": sound | case.data})
    assert case.words in str(wrong.value)


# ---------------------------------------------------------------------- taken, with a remark or a reason


@dataclass(frozen=True)
class Odd:
    """After `said`, the last event is taken, remarked on under `name` with these words, and booked as `runs` say."""

    about: str
    name: str
    said: list[Any]
    words: tuple[str, ...]
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


ODD = [
    Odd(
        "a run on a node nobody spoke of",
        "unknown_node",
        [*small_cluster(), submitted("08:00"), started("08:10", on={"ghost": 1})],
        ("ghost", "send the cluster's nodes first"),
        {"j/1": {"funded": True, "pool": "unknown", "flags": ("unknown_node",)}},
    ),
    Odd(
        "a placement larger than its node",
        "placement_over_node",
        [*small_cluster(), submitted("08:00"), started("08:10", on={"n": 5})],
        ("5000 milli-GPUs of n, which has 4000", "correct one of the two"),
        {"j/1": {"gpus_milli": 5000}},
    ),
    Odd(
        "a run told whole on a node too small for it",
        "placement_over_node",
        [*small_cluster(), run("09:00", start="08:10", on={"n": 5})],
        ("5000 milli-GPUs of n",),
    ),
    Odd(
        "a second start of one attempt",
        "second_start",
        [*small_cluster(), submitted("08:00"), started("08:10"), started("08:20", on={"n": 2})],
        ("the later statement is believed", "an attempt of its own"),
        {"j/1": {"started_s": s("08:20"), "gpus_milli": 2000}},
    ),
    Odd(
        "one id with two contents",
        "id_reused",
        [*small_cluster(), ended("08:30", id="x"), ended("08:40", id="x", outcome="failed")],
        ("under the id x of test", "the greater stamp is believed", "an id of its own"),
    ),
    Odd(
        "one id with two starts",
        "id_reused",
        [*small_cluster(), started("08:30", id="x"), started("08:40", id="x")],
        ("under the id x of test",),
        {"j/1": {"started_s": s("08:40")}},
    ),
    Odd(
        "one id with two submissions",
        "id_reused",
        [*small_cluster(), submitted("08:20"), submitted("08:30", id="x"), submitted("08:40", id="x")],
        ("under the id x of test",),
    ),
    Odd(
        "one id with two updates",
        "id_reused",
        [
            *small_cluster(),
            say("job.updated", "08:20", job="j", priority=1),
            say("job.updated", "08:30", id="x", job="j", held=True),
            say("job.updated", "08:31", id="x", job="j", held=False),
        ],
        ("under the id x of test",),
    ),
    Odd(
        "one id with two records of a run",
        "id_reused",
        [*small_cluster(), run("08:30", id="x", start="08:00"), run("08:40", id="x", start="08:00")],
        ("under the id x of test",),
    ),
    Odd(
        "one id with two pauses",
        "id_reused",
        [*small_cluster(), suspended("08:20"), suspended("08:30", id="x"), suspended("08:40", id="x")],
        ("under the id x of test",),
    ),
    Odd(
        "one id with two statements of a node",
        "id_reused",
        [*small_cluster(), node("08:30", id="x"), node("08:40", id="x", gpus=8)],
        ("under the id x of test",),
    ),
    Odd(
        "a run that reaches out of the horizon",
        "beyond_horizon_in_part",
        [*FORTY_DAYS, run("day 41 10:06", start="day 6 09:00", end="day 6 11:00")],
        ("before 2026-03-07 10:00 UTC is left as it was",),
    ),
    Odd(
        "a hold of what runs",
        "held_while_running",
        [*small_cluster(), submitted("08:00"), started("08:10"), updated("08:20", held=True)],
        ("while attempt 1 ran", "ask sacct for its number"),
        {"j/1": {"ended_s": None}},
    ),
    Odd(
        "attempts that hold a node at the same time",
        "attempts_overlap",
        [
            *small_cluster(),
            submitted("08:00"),
            started("08:10", attempt="1"),
            started("08:20", attempt="2"),
            ended("08:30", attempt="2"),
        ],
        ("attempts 1 and 2 of job j hold n", "send the end of 1"),
        {"j/1": {"ended_s": None}, "j/2": {"ended_s": s("08:30")}},
    ),
    Odd(
        "records of runs that overlap",
        "attempts_overlap",
        [
            *small_cluster(),
            run("09:00", attempt="1", start="08:00", end="09:00", on={"n": 1, "m": 1}),
            run("09:30", attempt="2", start="08:59:59", end="09:30", on={"m": 1}),
        ],
        ("attempts 1 and 2 of job j hold m", "another job id"),
    ),
]


@pytest.mark.parametrize("case", ODD, ids=lambda case: case.about)
def test_what_is_odd_is_booked_and_remarked_on(case: Odd):
    book = told(case.said[:-1])
    seen = set(book.tables[Remark])
    assert book.fold(case.said[-1]) == Applied()
    new = [row for key, row in book.tables[Remark].items() if key not in seen]
    found = [row for row in new if row.name == case.name]
    assert len(found) == 1, f"remarks: {new}"
    for words in case.words:
        assert words in found[0].sentence
    assert (found[0].source, found[0].event_id) == ("test", case.said[-1].id)
    told_runs = {f"{r.job}/{r.attempt}": r for r in book.tables[Run].values()}
    for name, fields in case.runs.items():
        assert {column: getattr(told_runs[name], column) for column in fields} == fields
    book.fold(tick("day 41 10:10" if len(case.said) > 5 and case.name.startswith("beyond") else "10:05"))
    book.check(at_most=24)


def test_the_same_start_again_is_no_second_start():
    book = told([*small_cluster(), started("08:10")])
    assert book.fold(started("08:10")) == Repeated()
    assert not book.remarks["second_start"]


def test_attempts_one_after_the_other_do_not_overlap():
    book = told([*small_cluster(), submitted("08:00"), started("08:10", attempt="1"), started("08:20", attempt="2")])
    assert not book.remarks["attempts_overlap"]  # the end of the first may be on its way
    book.fold(ended("08:20", attempt="1", outcome="requeued"))
    book.fold(ended("08:30", attempt="2"))
    assert not book.remarks["attempts_overlap"]


def test_attempts_on_nodes_of_their_own_do_not_overlap():
    log = [run("09:00", attempt="1", start="08:00", end="09:00"), node("08:00", "m")]
    log.append(run("09:01", attempt="2", start="08:30", end="09:00", on={"m": 1}))
    assert not told([*small_cluster(), *log]).remarks["attempts_overlap"]


def test_an_overlap_is_remarked_on_once():
    log = [run("09:00", attempt="1", start="08:00", end="09:00"), run("09:00", attempt="2", start="08:30", end="08:50")]
    book = told([*small_cluster(), *log])
    book.fold(run("09:10", attempt="2", start="08:30", end="08:55"))
    assert book.remarks["attempts_overlap"] == 1


@dataclass(frozen=True)
class Unfunded:
    about: str
    reason: str
    account: str | None
    min_runtime_s: int = 3600


UNFUNDED = [
    Unfunded("nobody is named", "no_account", None),
    Unfunded("an account nobody knows", "unknown_account", "lab/ghost"),
    Unfunded("an account outside the tree", "unknown_account", "firm"),
    Unfunded("a share of nothing", "zero_share", "lab/z"),
    Unfunded("no minimum runtime", "no_min_runtime", "lab/a", 0),
    Unfunded("a minimum runtime over the maximum", "min_runtime_over_maximum", "lab/a", 8 * 3600 + 1),
]


@pytest.mark.parametrize("case", UNFUNDED, ids=lambda case: case.about)
def test_what_no_budget_pays_for_is_taken_and_says_why(case: Unfunded):
    book = told([*small_cluster(), shares("08:00:01", "lab", {"a": 60, "b": 25, "z": 0}, 1)])
    book.fold(submitted("08:10", account=case.account, min_runtime_s=case.min_runtime_s))
    assert book.fold(started("08:10")) == Applied()
    book.fold(tick("09:05"))
    (row,) = book.tables[Run].values()
    assert (row.funded, row.funding_reason, row.ledger_account) == (False, case.reason, "")
    book.check()


@pytest.mark.parametrize(
    ("log", "flags", "ended_s"),
    [
        ([ended("08:30"), started("08:10")], (), s("08:30")),  # arrives before its start: it waits for it
        ([started("08:10"), ended("08:05")], ("end_before_start",), s("08:10")),  # happened before its start
    ],
    ids=["in arrival", "in time"],
)
def test_an_end_before_its_start(log: list[Any], flags: tuple[str, ...], ended_s: int):
    book = told([*small_cluster(), submitted("08:00"), *log, tick("09:05")])
    (row,) = book.tables[Run].values()
    assert (row.flags, row.ended_s, row.started_s) == (flags, ended_s, s("08:10"))
    assert row.running_s == ended_s - s("08:10")
    book.check()


# ---------------------------------------------------------------------- acceptance


def test_a_forty_day_old_file_imported_again_changes_nothing():
    file = [
        run(f"{9 + n % 12:02}:{n % 60:02}", f"j{n}", start="08:00", end=f"{9 + n % 12:02}:{n % 60:02}")
        for n in range(60)
    ]
    book = told([opens("08:00"), node("08:00", gpus=64), shares("08:00", "lab", {"a": 60, "b": 25}), *file])
    for day in range(2, 42):
        book.fold(tick(f"day {day} 10:05"))
    before = settled(book)
    for event in file:
        outcome = book.fold(event.model_copy(update={"recordedtime": t("day 41 11:00")}))
        assert isinstance(outcome, Refused)
        assert outcome.name == "beyond_horizon"
    assert settled(book) == before
    assert not book.book.state.jobs
    assert book.refused == {"beyond_horizon": 60}


def test_a_repeated_start_of_a_run_the_book_let_go_of_is_refused():
    begin = [submitted("08:00"), started("08:10")]
    book = told([*small_cluster(), *begin, ended("09:00"), tick("10:05"), tick("day 41 10:05")])
    assert not book.book.state.jobs
    for event in begin:
        outcome = book.fold(event.model_copy(update={"recordedtime": t("day 41 11:00")}))
        assert isinstance(outcome, Refused)
        assert outcome.name == "beyond_horizon"
    book.fold(tick("day 41 11:05"))
    book.check(at_most=24)


def test_of_a_job_that_is_known_an_old_attempt_that_is_not_is_refused():
    book = told([*small_cluster(), submitted("08:00"), started("08:10"), tick("day 41 10:05")])
    outcome = book.fold(started("08:05", attempt="0", recorded="day 41 10:06"))
    assert isinstance(outcome, Refused)
    assert outcome.name == "beyond_horizon"
    # What is said of the job, or of the attempt that goes on, is not: it may still matter.
    for event in (submitted("08:01"), ended("08:02", attempt=None), checkpointed("08:20")):
        assert book.fold(event.model_copy(update={"recordedtime": t("day 41 10:06")})) == Applied()
    book.check(at_most=24)


def test_a_run_that_still_goes_on_is_never_let_go_of():
    book = told([*small_cluster(), submitted("08:00"), started("08:10"), tick("day 41 10:05")])
    assert book.fold(ended("day 41 10:00", recorded="day 41 10:06")) == Applied()
    (row,) = book.tables[Run].values()
    assert row.ended_s == s("day 41 10:00")
    book.check(at_most=24)


def test_a_late_end_a_late_node_and_a_late_share_correct_the_closed_hours():
    log = [*small_cluster(), submitted("08:00", gpus=2), started("08:00", on={"n": 2}), tick("day 2 10:05")]
    book = told(log)
    late = [
        ended("09:30", recorded="day 2 10:10"),
        node("10:00", state="down", recorded="day 2 10:11"),
        shares("day 2 10:12", "lab", {"a": 10, "b": 90}, 1, effective_at=t("09:00"), backdated=True, reason="agreed"),
        reassigned("day 2 10:13", "lab/b"),
    ]
    for event in late:
        seen = book.net()
        assert book.fold(event) == Applied()
        assert book.net() != seen
        book.check()


def test_a_short_horizon_is_a_policy():
    book = told([*small_cluster(), policy("08:00", horizon_h=24), tick("day 3 10:05")])
    outcome = book.fold(run("day 2 09:59:59", start="day 2 09:00", end="day 2 09:59:59", recorded="day 3 10:06"))
    assert isinstance(outcome, Refused)
    assert book.fold(run("day 2 10:00", start="day 2 09:00", end="day 2 10:00", recorded="day 3 10:06")) == Applied()


def test_every_refusal_of_the_book_has_its_row():
    elsewhere = {"not_utf8", "not_json", "not_an_event", "end_before_start", "wrong_topic"}
    """What is refused before an event reaches the book: tested with the streams."""
    named = {case.name for case in REFUSED}
    assert set(get_args(RefusalName)) - elsewhere - named == set()
