"""The registers of attempts: whatever order statements come in, the same facts."""

from itertools import permutations
from typing import Any

import pytest

from ledger.jobs import Attempt, JobFacts
from ledger.statements import End, Full, Idle, Start, Submitted, Terms, Toggle, Updated


def start(at: int, id: str = "i") -> Start:
    return Start(at * 1_000_000, "s", id, at, (("n", 1000, ()),))


def an_end(at: int, outcome: str = "succeeded", told: int | None = None) -> End:
    return End((at if told is None else told) * 1_000_000, "s", "e", at, outcome, None)


def toggle(at: int, suspends: bool = True) -> Toggle:
    return Toggle(at * 1_000_000, "s", "t", at, suspends, False)


def full(at: int, started: int = 0, ended: int | None = None, suspended: int = 0) -> Full:
    times = (None, None, started, ended)
    return Full(at * 1_000_000, "s", "f", at, Terms(user="ann"), *times, (("n", 1000, ()),), (), suspended, "failed", 1)


PUT = {Full: Attempt.put_full, Start: Attempt.put_start, End: Attempt.put_end, Toggle: Attempt.put_toggle}


@pytest.mark.parametrize(
    "told",
    [
        [start(10), full(20, started=9), an_end(30), toggle(15), toggle(25)],
        [start(30, "a"), start(20, "b"), full(25), full(22, ended=24), toggle(23)],
        [an_end(40), an_end(30, told=50), full(60, ended=35), full(45), start(1)],
        [start(10), an_end(30), start(40), an_end(60)],
        [full(20, started=10), an_end(30), start(40), full(50, started=10), an_end(35)],
        [full(25, started=10, ended=25), full(60, started=40), start(30), toggle(28), an_end(27)],
    ],
)
def test_any_order_of_statements_fills_the_registers_alike(told: list[Any]):
    records, lives = set(), set()
    for order in permutations(told):
        attempt = Attempt("1")
        for statement in order:
            PUT[type(statement)](attempt, statement)  # type: ignore[operator]
        for statement in order:
            assert not PUT[type(statement)](attempt, statement)  # type: ignore[operator]
        records.add(repr(attempt.record()))
        lives.add(attempt.life())
    assert (len(records), len(lives)) == (1, 1)


def test_a_full_statement_speaks_instead_of_what_was_said_up_to_it():
    attempt = Attempt("1")
    assert [attempt.put_start(start(at)) for at in (10, 15)] == [True, True]
    assert [attempt.put_toggle(toggle(at)) for at in (12, 18, 25)] == [True, True, True]
    assert attempt.put_full(full(20, started=9))
    assert (attempt.life().start, attempt.spoken(), attempt.started_s()) == (None, [toggle(25)], 9)
    assert attempt.put_start(start(20, "a"))  # for a statement of the end may come, of an earlier stamp
    assert attempt.started_s() == 9
    assert attempt.put_start(start(21))
    assert attempt.started_s() == 21
    assert not attempt.put_full(full(19))


def test_that_it_ended_is_believed_over_that_it_runs():
    attempt = Attempt("1")
    assert attempt.put_full(full(40))  # "still running"
    assert attempt.put_toggle(toggle(38))
    assert attempt.put_full(full(35, ended=33, suspended=5))
    assert attempt.full == full(35, ended=33, suspended=5)
    assert attempt.spoken() == [toggle(38)]
    assert not attempt.put_full(full(50))
    assert not attempt.put_full(full(30, ended=30))
    assert attempt.put_full(full(36, ended=34))


def test_an_end_is_a_register_of_its_own():
    attempt = Attempt("1")
    assert attempt.put_end(an_end(30))
    assert attempt.put_full(full(40))  # "still running"
    assert attempt.life().end == an_end(30)
    assert attempt.put_end(an_end(20))  # known, and not believed
    assert attempt.life().end == an_end(30)
    assert attempt.put_full(full(35, ended=33))
    assert attempt.life().end == End(35_000_000, "s", "f", 33, "failed", 1)
    assert attempt.ends == ()


def test_a_start_after_the_end_moves_nothing():
    attempt = Attempt("1")
    for told in (start(10), an_end(30), start(40), an_end(60)):
        PUT[type(told)](attempt, told)  # type: ignore[operator]
    assert attempt.life() == (start(10), an_end(30), start(40))
    assert attempt.put_full(full(70, started=40, ended=60))  # a whole record knows better
    assert attempt.life() == (None, End(70_000_000, "s", "f", 60, "failed", 1), None)


def test_an_end_of_the_job_is_one_of_the_attempt_too():
    attempt = Attempt("1")
    assert [attempt.put_start(start(at)) for at in (10, 40)] == [True, True]
    assert attempt.life().start == start(40)
    assert attempt.life([an_end(30)]) == (start(10), None, start(40))
    assert attempt.started_s([an_end(30)]) == 10


def test_checkpoints_are_a_set_in_order():
    attempt = Attempt("1")
    assert [attempt.put_checkpoint(at) for at in (3, 1, 2, 3)] == [True, True, True, False]
    assert attempt.checkpoints_s == [1, 2, 3]


def test_the_latest_word_on_idleness_counts():
    attempt = Attempt("1")
    assert attempt.put_idle(Idle(2, "s", "i", 9))
    assert not attempt.put_idle(Idle(1, "s", "i", 5))
    assert not attempt.put_idle(Idle(2, "s", "i", 9))
    assert attempt.put_idle(Idle(3, "s", "i", 7))
    assert attempt.idle is not None
    assert attempt.idle.since_s == 7


def test_nobody_told_of_a_start():
    assert Attempt("1").started_s() is None


def said(at: int, **terms: Any) -> Submitted:
    return Submitted(at * 1_000_000, "s", "i", at, Terms(**terms))


def update(at: int, *changes: tuple[str, Any]) -> Updated:
    return Updated(at * 1_000_000, "s", "i", at, changes)


def test_terms_over_time():
    job = JobFacts("j")
    assert job.terms_at(5) == Terms()
    job.submitted = [said(10, account="a", priority=1), said(30, account="b")]
    assert [job.terms_at(at).account for at in (5, 10, 29, 30)] == ["a", "a", "a", "b"]
    job.updated = [update(5, ("held", True)), update(20, ("account", "c")), update(25, ("account", "d"))]
    assert [job.terms_at(at).account for at in (19, 20, 25, 30)] == ["a", "c", "d", "b"]
    assert not job.terms_at(10).held  # said before it was submitted
    assert job.terms_at(25).priority == 1


def test_an_update_between_two_submissions_goes_with_the_first():
    job = JobFacts("j")
    job.submitted = [said(10, account="a"), said(30, account="b")]
    job.updated = [update(20, ("priority", 7))]
    assert [job.terms_at(at).priority for at in (19, 20, 30)] == [0, 7, 0]


def test_an_attempt_is_known_from_its_first_mention():
    job = JobFacts("j")
    assert job.attempt("1") is job.attempt("1")
    job.attempt("0")
    assert [one[0] for one in job.record()[5]] == ["0", "1"]  # by name, so that arrival leaves no trace


@pytest.mark.parametrize(
    ("told", "reaches"),
    [
        ([start(1)], False),
        ([start(1), an_end(5)], False),
        ([start(1), an_end(5, "node_failure")], True),
        ([full(5, suspended=3)], True),
        ([full(5)], False),
        ([start(1), start(2)], True),
        ([start(9), full(5)], True),
    ],
)
def test_what_may_change_time_long_before(told: list[Any], reaches: bool):
    job = JobFacts("j")
    for statement in told:
        PUT[type(statement)](job.attempt("1"), statement)  # type: ignore[operator]
    assert job.reaches_back() is reaches


def test_an_end_of_the_job_or_a_wait_between_attempts_reaches_back():
    job = JobFacts("j")
    job.attempt("1")
    job.attempt("2")
    assert job.reaches_back()  # never submitted: waits take the terms of the next run
    job.submitted = [said(1)]
    assert not job.reaches_back()
    job.ended = [an_end(5)]
    assert job.reaches_back()
