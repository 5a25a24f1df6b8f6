"""The order of a history: set-up, then by submission, ticks between, none later than it is recorded."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events.decisions import ClockTicked, PolicySet, PolicySetData
from ledger.events.jobs import JobSubmitted, JobSubmittedData, Placement, RunObserved, RunObservedData
from ledger.events.nodes import NodeObserved, NodeObservedData
from ledger.units import epoch_s, instant
from streams.backfill import backfill, tick

H = 1_796_000_400
"""A whole hour: 2026-11-30T01:00:00Z."""
FAR = datetime(2030, 1, 1, tzinfo=UTC)


def run(job, start_s, end_s, submit_s=None, cluster="c", running=False):
    data = RunObservedData(
        cluster=cluster,
        job=job,
        attempt="1",
        user="eve",
        submitted_at=None if submit_s is None else instant(submit_s),
        started_at=instant(start_s),
        ended_at=None if running else instant(end_s),
        placements=(Placement(node="gn1", gpus_milli=1_000),),
    )
    return RunObserved(id=f"run/{job}", source="t", time=instant(end_s), data=data)


def waiting(job, at_s, cluster="c"):
    data = JobSubmittedData(cluster=cluster, job=job, user="eve", gpus_milli=1_000)
    return JobSubmitted(id=f"job/{job}", source="t", time=instant(at_s), data=data)


def node(at_s, cluster="c"):
    data = NodeObservedData(cluster=cluster, node="gn1", gpu_type="gpu", gpus_milli=8_000, state="available")
    return NodeObserved(id=f"node/{at_s}", source="t", time=instant(at_s), data=data)


def opening(at_s, cluster="c"):
    data = PolicySetData(cluster=cluster, opens_at=instant(at_s), author="t")
    return PolicySet(id="policy", source="t", time=instant(at_s), data=data)


def names(events):
    return [e.id for e in events]


def test_ticks_stand_where_they_would_have_been_written():
    log = list(
        backfill(
            [run("late", H + 9_000, H + 9_100, submit_s=H + 100), run("early", H, H + 50)],
            [waiting("mid", H + 4_000)],
            recorded_at=FAR,
            set_up=[opening(H), node(H)],
        )
    )
    assert names(log) == [
        "policy",
        f"node/{H}",
        "run/early",
        "run/late",
        "c/2026-11-30T02:05:00Z",
        "job/mid",
        "c/2026-11-30T03:05:00Z",
        "c/2026-11-30T04:05:00Z",
    ]


def test_a_tick_is_an_event_under_the_live_writers_id():
    event = tick("c", instant(H + 3_900))
    assert isinstance(event, ClockTicked)
    assert (event.id, event.data.cluster, epoch_s(event.data.at), event.time) == (
        "c/2026-11-30T02:05:00Z",
        "c",
        H + 3_900,
        event.data.at,
    )


def test_no_tick_is_later_than_the_import_is_recorded():
    log = list(backfill([run("a", H, H + 10 * 3_600)], recorded_at=instant(H + 2 * 3_600 + 299)))
    assert [epoch_s(e.data.at) for e in log if isinstance(e, ClockTicked)] == [H + 3_900]


def test_the_last_tick_closes_the_last_hour_with_data_and_no_more():
    whole = list(backfill([run("a", H, H + 3_600)], recorded_at=FAR))
    one_more = list(backfill([run("a", H, H + 3_601)], recorded_at=FAR))
    assert [epoch_s(e.data.at) for e in whole if isinstance(e, ClockTicked)] == [H + 3_900]
    assert [epoch_s(e.data.at) for e in one_more if isinstance(e, ClockTicked)] == [H + 3_900, H + 7_500]


def test_what_still_runs_has_data_until_it_was_seen():
    log = list(backfill([run("a", H, H + 7_000, running=True)], recorded_at=FAR))
    assert [epoch_s(e.data.at) for e in log if isinstance(e, ClockTicked)] == [H + 3_900, H + 7_500]


def test_a_submission_later_than_the_start_does_not_hide_the_run():
    log = list(backfill([run("a", H, H + 10, submit_s=H + 50_000), waiting("b", H + 8_000)], recorded_at=FAR))
    assert names(log)[0] == "run/a"


def test_nodes_and_shares_go_before_runs_of_the_same_second():
    assert names(backfill([run("a", H, H + 1), node(H), opening(H)], recorded_at=FAR))[:3] == [
        "policy",
        f"node/{H}",
        "run/a",
    ]


def test_a_node_whose_clock_is_wrong_by_years_has_no_ticks_of_those_years():
    years = instant(H).replace(year=2001)
    log = list(backfill([node(epoch_s(years)), node(H), run("a", H + 60, H + 90)], recorded_at=FAR))
    assert [epoch_s(e.data.at) for e in log if isinstance(e, ClockTicked)] == [H + 3_900]


@pytest.mark.parametrize("first", [opening(H), node(H)])
def test_ticks_begin_where_the_set_up_opens_the_book_or_the_first_job_is(first):
    month = H + 40 * 86_400
    before = [] if isinstance(first, PolicySet) else [run("a", H, H + 60)]
    log = list(backfill([*before, node(month)], recorded_at=FAR, set_up=[first]))
    assert sum(isinstance(e, ClockTicked) for e in log) == 40 * 24 - 1


def test_each_cluster_has_ticks_of_its_own():
    log = list(backfill([run("a", H, H + 10), run("b", H + 7_200, H + 7_300, cluster="d")], recorded_at=FAR))
    assert [e.id for e in log if isinstance(e, ClockTicked)] == ["c/2026-11-30T02:05:00Z", "d/2026-11-30T04:05:00Z"]


def test_ticks_begin_where_the_book_opens():
    log = list(backfill([run("a", H + 7_200, H + 7_300)], recorded_at=FAR, set_up=[opening(H)]))
    assert next(e.id for e in log if isinstance(e, ClockTicked)) == "c/2026-11-30T02:05:00Z"


def test_ticks_that_were_there_already_are_left_out():
    old = tick("c", instant(H + 123))
    assert old.id not in names(backfill([old, run("a", H, H + 10)], recorded_at=FAR))


def test_nothing_gives_nothing():
    assert list(backfill([], recorded_at=FAR)) == []
    assert names(backfill([node(H)], recorded_at=FAR)) == [f"node/{H}"]


RUNS = st.lists(
    st.tuples(st.integers(0, 50_000), st.integers(0, 30_000), st.integers(0, 9_000), st.sampled_from("cd")), max_size=20
)


@given(RUNS, st.integers(0, 120_000))
def test_a_run_is_in_the_log_before_the_tick_that_closes_its_first_hour(runs, recorded_after_s):
    events = [
        run(str(n), H + start, H + start + length, submit_s=H + start - wait, cluster=cluster)
        for n, (start, length, wait, cluster) in enumerate(runs)
    ]
    recorded_at = instant(H + recorded_after_s)
    log = list(backfill(events, recorded_at=recorded_at))
    closed_until = {"c": -1, "d": -1}
    for event in log:
        cluster = event.data.cluster
        if isinstance(event, ClockTicked):
            at_s = epoch_s(event.data.at)
            assert at_s % 3_600 == 300
            assert closed_until[cluster] in (-1, at_s - 300 - 3_600), "each hour once, in order"
            assert event.data.at <= recorded_at
            closed_until[cluster] = at_s - 300
        else:
            assert epoch_s(event.data.started_at) >= closed_until[cluster]
    assert sorted(e.id for e in log if isinstance(e, RunObserved)) == sorted(e.id for e in events)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_input_does_not_matter(order):
    events = [run(str(n), H + n * 977, H + n * 977 + 60) for n in range(20)]
    assert list(backfill(events[::order], recorded_at=FAR)) == list(backfill(events, recorded_at=FAR))


def test_it_is_an_iterator():
    log = backfill([run("a", H, H + 10)], recorded_at=FAR + timedelta(1))
    assert next(log).id == "run/a"


def test_decisions_and_ends_of_jobs_keep_their_place():
    from ledger.events.decisions import ChildShare, SharesSet, SharesSetData
    from ledger.events.jobs import JobEnded, JobEndedData

    shares = SharesSetData(
        cluster="c", parent="lab", children=(ChildShare(child="a", share_percent=50),), author="t", expected_revision=0
    )
    divided = SharesSet(id="shares", source="t", time=instant(H), data=shares)
    left = JobEnded(
        id="left", source="t", time=instant(H + 9_000), data=JobEndedData(cluster="c", job="j", outcome="cancelled")
    )
    log = names(backfill([left, run("a", H, H + 10), waiting("j", H + 10), divided], recorded_at=FAR))
    assert log[:3] == ["shares", "run/a", "job/j"]
    assert log[-1] == "c/2026-11-30T04:05:00Z", "the hour in which the job left its place has data"
    assert log[3:6] == ["c/2026-11-30T02:05:00Z", "c/2026-11-30T03:05:00Z", "left"]
