"""What a past makes of a job: how long it needs its GPUs, how it saves, when it is given up."""

import pytest

from enforcer.whatif.past import FUNDED_BATCH, FUNDED_DEBUG, UNFUNDED, Past, Turn, read
from enforcer.whatif.work import ENDLESS_S, Work
from ledger.book import Book
from tests.support.said import (
    CLUSTER,
    checkpointed,
    ended,
    node,
    resumed,
    s,
    say,
    small_cluster,
    started,
    submitted,
    suspended,
    tick,
)

TYPICAL = [
    event
    for name, end in (("x1", "08:20"), ("x2", "08:40"), ("x3", "09:40"))
    for event in (submitted("08:00", name), started("08:00", name), ended(end, name))
]
"""Ended work of 20, 40 and 100 minutes: half of it lasts 40 minutes at most."""


def past(*events: object, since: str = "08:00", until: str = "18:00") -> Past:
    book = Book(CLUSTER)
    for event in [*small_cluster(), *events, tick("18:05")]:
        book.apply(event, s("18:05"))
    book.take()
    return read(book.state, s(since), s(until))


def only(found: Past, name: str = "j") -> tuple[int, Work]:
    return next((at_s, work) for at_s, work in found.coming if work.name == name)


def test_it_needs_what_it_held_but_for_what_it_did_again():
    """30 min saved of 50, then 60 min to its end: 90 minutes, saved every 15."""
    saves = [checkpointed("09:15"), checkpointed("09:30")]
    stopped = [submitted("08:30", resumable=True), started("09:00"), *saves, ended("09:50", outcome="preempted")]
    at_s, work = only(past(*stopped, started("11:00", attempt="2"), ended("12:00", attempt="2", outcome="failed")))
    assert (at_s, work.left_s, work.checkpoint_s, work.ends_as) == (s("08:30"), 90 * 60, 900, "failed")
    assert (work.pieces, work.piece_milli, work.apart, work.gpu_type) == (1, 1000, False, "h100")


def test_work_that_cannot_be_resumed_did_all_of_it_again():
    stopped = [submitted("08:30"), started("09:00"), ended("09:50", outcome="requeued")]
    _, work = only(past(*stopped, started("11:00", attempt="2"), ended("12:00", attempt="2")))
    assert work.left_s == 3600


def test_gpus_that_were_given_back_were_not_held():
    pause = [suspended("09:10", releases_gpus=True), resumed("09:40")]
    _, work = only(past(submitted("08:30"), started("09:00"), *pause, ended("10:00")))
    assert work.left_s == 30 * 60


def test_work_that_still_runs_goes_on():
    assert only(past(submitted("08:30"), started("09:00")))[1].left_s == ENDLESS_S


@pytest.mark.parametrize(("end", "length_s"), [("09:10", 40 * 60), ("10:00", 60 * 60)])
def test_work_that_was_stopped_for_good_is_assumed_to_last(end: str, length_s: int):
    found = past(*TYPICAL, submitted("08:30"), started("09:00"), ended(end, outcome="preempted"))
    assert only(found)[1].left_s == length_s
    assert found.unknown == 1


def test_work_that_was_given_up_waiting():
    found = past(*TYPICAL, submitted("08:30"), ended("11:00", attempt=None, outcome="cancelled"))
    at_s, work = only(found)
    assert (at_s, work.withdrawn_s, work.left_s) == (s("08:30"), s("11:00"), 40 * 60)


def test_what_is_over_before_the_span_is_told_and_not_played():
    found = past(submitted("08:30"), started("09:00"), ended("10:00"), since="11:00")
    assert (found.over, found.coming, found.running, found.classes) == (["j"], [], [], {})


def test_what_runs_as_the_span_begins_is_in_the_middle_of_it():
    saves = [checkpointed("09:30"), checkpointed("10:00")]
    found = past(submitted("08:30", resumable=True), started("09:00"), *saves, ended("13:00"), since="10:00")
    (run,) = found.running
    assert (run.start_s, run.saved_s, run.ends_s, run.places) == (s("09:00"), s("10:00"), s("13:00"), {"n": 1000})
    assert found.classes == {}


def test_classes():
    told = past(
        submitted("08:30", "batch"),
        submitted("08:30", "debug", min_runtime_s=900),
        submitted("08:30", "no minimum", min_runtime_s=0),
        submitted("08:30", "nobody", account=None),
        submitted("08:30", "no share", account="lab/z"),
    )
    assert told.classes == {
        "batch": FUNDED_BATCH,
        "debug": FUNDED_DEBUG,
        "no minimum": UNFUNDED,
        "nobody": UNFUNDED,
        "no share": UNFUNDED,
    }


def test_nodes_turn_as_they_did():
    told = past(node("10:00", state="draining"), node("11:00"), node("12:00"), say("node.removed", "13:00", node="n"))
    assert told.turns == [
        Turn(s("08:00"), "n", "h100", 4000, "available"),
        Turn(s("10:00"), "n", "h100", 4000, "draining"),
        Turn(s("11:00"), "n", "h100", 4000, "available"),
        Turn(s("13:00"), "n", "h100", 0, ""),
    ]
