"""When a job waits, and under which terms. Seconds are small on purpose."""

from typing import Any

import pytest

from ledger.jobs import JobFacts
from ledger.queue import Wait, queued, waits
from ledger.runs import DerivedRun, derive
from ledger.state import Derived
from ledger.statements import End, Full, Start, Submitted, Terms, Updated
from ledger.units import FOREVER_S
from tests.support.world import World, stamped

ASKED = Terms(account="lab/a", gpus_milli=1000, min_runtime_s=100)


@pytest.mark.parametrize(
    ("change", "asks"),
    [({}, True), ({"account": ""}, False), ({"gpus_milli": 0}, False), ({"min_runtime_s": 0}, False)],
)
def test_a_wait_asks_for_time_if_it_can_be_funded_at_all(change: dict[str, Any], asks: bool):
    assert Wait(0, 10, ASKED._replace(**change), 0).asks is asks


def job(
    *,
    submitted: dict[int, Terms] | None = None,
    updated: dict[int, dict[str, Any]] | None = None,
    attempts: tuple[tuple[int, int | None, str], ...] = (),
    ended: tuple[int, ...] = (),
) -> JobFacts:
    """Attempts as (start, end, outcome), named in order."""
    facts = JobFacts("j")
    facts.submitted = [
        stamped(Submitted, at, terms) for at, terms in ({10: ASKED} if submitted is None else submitted).items()
    ]
    facts.updated = [stamped(Updated, at, tuple(changes.items())) for at, changes in (updated or {}).items()]
    for n, (start, end, outcome) in enumerate(attempts, start=1):
        facts.attempt(str(n)).starts = (stamped(Start, start, (("n", 1000, ()),)),)
        if end is not None:
            facts.attempt(str(n)).ends = (stamped(End, end, outcome, None),)
    facts.ended = [stamped(End, at, "cancelled", None) for at in ended]
    return facts


def runs_of(facts: JobFacts) -> tuple[DerivedRun, ...]:
    return derive(facts, World())


def waits_of(facts: JobFacts) -> tuple[Wait, ...]:
    runs = runs_of(facts)
    return waits(facts, runs, queued(facts, runs))


def spans(facts: JobFacts) -> list[tuple[int, int]]:
    return [(wait.a_s, wait.b_s) for wait in waits_of(facts)]


RESUMABLE = {10: ASKED._replace(resumable=True)}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, [(10, FOREVER_S)]),
        ({"attempts": ((50, None, ""),)}, [(10, 50)]),
        ({"ended": (40,)}, [(10, 40)]),
        ({"attempts": ((50, 90, "succeeded"),)}, [(10, 50)]),
        ({"attempts": ((50, 90, "requeued"),)}, [(10, 50), (90, FOREVER_S)]),
        ({"attempts": ((50, 90, "requeued"), (120, None, ""))}, [(10, 50), (90, 120)]),
        ({"attempts": ((50, 90, "preempted"),)}, [(10, 50)]),
        ({"attempts": ((50, 90, "preempted"),), "submitted": RESUMABLE}, [(10, 50), (90, FOREVER_S)]),
        ({"attempts": ((50, 90, "node_failure"),), "submitted": RESUMABLE}, [(10, 50), (90, FOREVER_S)]),
        ({"attempts": ((50, 90, "failed"),), "submitted": RESUMABLE}, [(10, 50)]),
        ({"attempts": ((50, 90, "requeued"),), "ended": (95,)}, [(10, 50), (90, 95)]),
        ({"attempts": ((50, 90, "requeued"), (90, None, ""))}, [(10, 50)]),  # at equal instants the closing wins
        ({"attempts": ((10, None, ""),)}, []),
    ],
)
def test_openings_and_closings(told: dict[str, Any], expected: list[tuple[int, int]]):
    assert spans(job(**told)) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"submitted": {10: ASKED._replace(eligible_from_s=30)}}, [(30, FOREVER_S)]),
        ({"submitted": {10: ASKED._replace(eligible_from_s=5)}}, [(10, FOREVER_S)]),
        ({"submitted": {10: ASKED._replace(held=True)}}, []),
        ({"updated": {20: {"held": True}, 30: {"held": False}}}, [(10, 20), (30, FOREVER_S)]),
        ({"updated": {20: {"eligible_from_s": 25}}}, [(10, 20), (25, FOREVER_S)]),
        ({"updated": {20: {"eligible_from_s": 60}}, "attempts": ((50, None, ""),)}, [(10, 20)]),
        ({"updated": {20: {"eligible_from_s": 50}}, "attempts": ((50, None, ""),)}, [(10, 20)]),
        ({"submitted": {10: ASKED, 20: ASKED}}, [(10, 20), (20, FOREVER_S)]),
        ({"submitted": {10: ASKED, 70: ASKED}, "attempts": ((50, 90, "failed"),)}, [(10, 50)]),  # asked while it ran
        ({"submitted": {10: ASKED, 90: ASKED}, "attempts": ((50, 90, "failed"),)}, [(10, 50)]),  # the end closes
        ({"submitted": {10: ASKED, 91: ASKED}, "attempts": ((50, 90, "failed"),)}, [(10, 50), (91, FOREVER_S)]),
    ],
)
def test_held_later_and_asked_again(told: dict[str, Any], expected: list[tuple[int, int]]):
    assert spans(job(**told)) == expected


def test_terms_of_a_wait_are_those_at_its_begin():
    facts = job(updated={30: {"gpus_milli": 2000}, 60: {"gpus_milli": 9000}}, attempts=((50, None, ""),))
    found = waits_of(facts)
    assert [(w.a_s, w.b_s, w.terms.gpus_milli, w.submitted_s) for w in found] == [
        (10, 30, 1000, 10),
        (30, 50, 2000, 10),
    ]


def full(
    at: int, started: int, *, submitted: int | None = None, eligible: int | None = None, end: int | None = None
) -> Full:
    terms = ASKED._replace(gpus_milli=3000, shape_nodes=2, shape_gpus_milli=2000)
    placed = (("m", 1000, ()), ("n", 2000, ()))
    return stamped(Full, at, terms, submitted, eligible, started, end, placed, (), 0, "requeued", None)  # type: ignore[no-any-return]


def observed(*told: Full) -> JobFacts:
    facts = JobFacts("j")
    for n, one in enumerate(told, start=1):
        facts.attempt(str(n)).put_full(one)
    return facts


@pytest.mark.parametrize(
    ("told", "expected", "asked"),
    [
        (full(60, 50, submitted=20), [(20, 50)], 20),
        (full(60, 50, submitted=20, eligible=30), [(30, 50)], 20),
        (full(60, 50, eligible=30), [(30, 50)], 30),
        (full(60, 50, submitted=50), [], None),
        (full(60, 50), [], None),
    ],
)
def test_a_run_that_was_only_observed(told: Full, expected: list[tuple[int, int]], asked: int | None):
    found = waits_of(observed(told))
    assert [(w.a_s, w.b_s) for w in found] == expected
    assert [w.submitted_s for w in found] == [asked for _ in expected]
    for wait in found:  # it waits for what it then got
        assert (wait.terms.gpus_milli, wait.terms.shape_nodes, wait.terms.gpu_type) == (3000, 2, "unknown")


def test_between_two_observed_runs_the_terms_are_of_the_next():
    second = full(190, 120)
    second = second._replace(terms=second.terms._replace(gpus_milli=7000))
    facts = observed(full(100, 50, submitted=20, end=90), second)
    found = waits_of(facts)
    assert [(w.a_s, w.b_s, w.terms.gpus_milli, w.submitted_s) for w in found] == [
        (20, 50, 3000, 20),
        (90, 120, 7000, 120),
    ]


def test_after_the_last_observed_run_the_terms_are_of_the_last():
    facts = observed(full(100, 50, submitted=20, end=90))
    assert [(w.a_s, w.b_s, w.terms.gpus_milli) for w in waits_of(facts)] == [
        (20, 50, 3000),
        (90, FOREVER_S, 3000),
    ]


def test_what_is_asked_while_another_attempt_runs_opens_nothing():
    facts = observed(full(100, 50, end=90)._replace(outcome="failed"), full(190, 120, submitted=70))
    assert spans(facts) == []


@pytest.mark.parametrize(
    ("told", "since"),
    [
        ({}, 10),
        ({"submitted": {10: ASKED._replace(held=True)}}, 10),
        ({"attempts": ((50, None, ""),)}, None),
        ({"attempts": ((50, 90, "requeued"),)}, 90),
        ({"ended": (40,)}, None),
        ({"submitted": {}}, None),
    ],
)
def test_since_when_a_job_is_in_the_queue_held_or_not(told: dict[str, Any], since: int | None):
    facts = job(**told)
    assert Derived((), (), queued(facts, runs_of(facts))).queued_since == since
