"""Where everybody stands, on books small enough to work out by hand. GPU-ms = milli-GPUs × seconds."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.book import Book
from ledger.events import EVENT, ClockTicked, ClusterEvent, JobSubmitted, SharesSet
from ledger.facts import decode, encode
from ledger.hourly import hour_book
from ledger.hours import CHARGED, CLAIM, COMMITMENT, GRANT, REFUNDED
from ledger.outcomes import Refused
from ledger.ranking import Decay, Ratio, Sliding, weighted_sum
from ledger.runs import UNFUNDED
from ledger.standing import (
    HELD,
    IN_LINE,
    NO_POOL,
    NOT_ELIGIBLE,
    NOT_PLACEABLE,
    REASONS,
    SLOT_LIMIT,
    Protection,
    Slots,
    pending,
    protection,
    queue,
    running,
    slots,
    standing,
    weighting,
)
from ledger.tree import lineage
from ledger.units import HOUR_S, epoch_s, hour_floor_s
from tests.oracle.logs import recorded, seeded_log

T0 = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)
GPU_H = 3_600_000


def t(hours: int = 0, minutes: int = 0, seconds: int = 0) -> datetime:
    return T0 + timedelta(hours=hours, minutes=minutes, seconds=seconds)


class Told:
    """A book told in the order things happened."""

    def __init__(self) -> None:
        self.book = Book("c")
        self.said = 0

    def say(self, type: str, time: datetime, **data: Any) -> "Told":
        self.said += 1
        envelope = {"type": f"tenure.{type}.v1", "id": f"e{self.said}", "source": "test", "time": time}
        event = EVENT.validate_python(envelope | {"data": {"cluster": "c"} | data})
        outcome = self.book.apply(cast("ClusterEvent", event), epoch_s(time))
        assert not isinstance(outcome, Refused), outcome.sentence
        return self

    def node(self, node: str, milli: int, gpu_type: str = "h100", state: str = "available") -> "Told":
        return self.say("node.observed", T0, node=node, gpu_type=gpu_type, gpus_milli=milli, state=state)

    def shares(self, time: datetime, parent: str, revision: int = 0, **children: Any) -> "Told":
        pairs = {child: line if isinstance(line, tuple) else (line, None) for child, line in children.items()}
        lines = [{"child": c, "share_percent": p, "slot_limit_milli": most} for c, (p, most) in pairs.items()]
        return self.say("shares.set", time, parent=parent, children=lines, author="ann", expected_revision=revision)

    def submitted(self, time: datetime, job: str, account: str | None, milli: int = 1000, **data: Any) -> "Told":
        data = {"user": "ann", "min_runtime_s": 3600} | data
        return self.say("job.submitted", time, job=job, gpus_milli=milli, account=account, **data)

    def started(self, time: datetime, job: str, **placed: int) -> "Told":
        placements = [{"node": node, "gpus_milli": milli} for node, milli in placed.items()]
        return self.say("job.started", time, job=job, attempt="1", placements=placements)

    def ended(self, time: datetime, job: str, outcome: str = "succeeded") -> "Told":
        return self.say("job.ended", time, job=job, attempt="1", outcome=outcome)

    def tick(self, time: datetime) -> "Told":
        return self.say("clock.ticked", time, at=time)


def cluster() -> Told:
    """Eight GPUs on one node; lab/x 50 %, of which lab/x/p half, and lab/y 25 %, so lab/. has 25 %."""
    return Told().node("n", 8000).shares(T0, "lab", x="50", y="25").shares(T0, "lab/x", p="50")


def ratios(told: Told, pool: str = "h100") -> dict[str, tuple[int, int, int]]:
    return {a: (r.used_gpu_ms, r.committed_gpu_ms, r.claim_gpu_ms) for a, r in standing(told.book.state, pool).items()}


# ---------------------------------------------------------------- the ratio


def test_before_the_first_tick_nobody_stands_anywhere():
    assert standing(cluster().book.state, "h100") == {}
    assert queue(cluster().book.state) == []
    assert pending(cluster().book.state) == {}


def test_every_account_has_its_claim_use_and_commitment():
    # Four GPUs in lab/x/p from 00:30, one hour promised; the last tick is 00:45, so 15 min used and 45 min bound.
    told = cluster().submitted(t(0, 20), "j", "lab/x/p", 4000).started(t(0, 30), "j", n=4000).tick(t(0, 45))
    used, bound, claim = 4000 * 900, 4000 * 2700, 8000 * 2700
    assert ratios(told) == {
        "lab": (used, bound, claim),
        "lab/.": (0, 0, claim // 4),
        "lab/x": (used, bound, claim // 2),
        "lab/x/.": (0, 0, claim // 4),
        "lab/x/p": (used, bound, claim // 4),
        "lab/y": (0, 0, claim // 4),
    }


def test_a_run_that_starts_with_the_tick_is_bound_for_all_of_its_contract():
    told = cluster().submitted(t(0, 20), "j", "lab/y", 2000).started(t(0, 30), "j", n=2000).tick(t(0, 30))
    assert ratios(told)["lab/y"][:2] == (0, 2 * GPU_H)


def test_what_is_told_of_instants_after_the_tick_does_not_count_yet():
    told = cluster().tick(t(0, 30)).submitted(t(0, 30, 10), "j", "lab/y").started(t(0, 30, 20), "j", n=1000)
    assert ratios(told)["lab/y"][:2] == (0, 0)
    assert queue(told.book.state) == []


def test_refunds_are_given_back():
    told = cluster().submitted(t(), "j", "lab/y", 8000).started(t(), "j", n=8000)
    told.ended(t(2), "j", "node_failure").tick(t(3))
    assert ratios(told)["lab/y"] == (0, 0, 3 * 2 * GPU_H)


def test_a_grant_adds_to_the_claim_of_the_own_part():
    told = cluster().say(
        "grant.made",
        t(0, 1),
        author="ann",
        reason="a paper",
        gpu_type="h100",
        account="lab/x",
        amount_gpu_ms=10 * GPU_H,
        since=t(1),
        until=t(11),
    )
    told.tick(t(2, 30))
    assert ratios(told)["lab/x/."][2] == 2 * 2.5 * GPU_H + 1.5 * GPU_H


def test_the_window_slides_by_whole_hours():
    # Two hours of one GPU on the first day; the window of 168 h before 04:30 a week later begins at 04:00.
    told = cluster().submitted(t(3), "j", "lab/y", 1000).started(t(3), "j", n=1000).ended(t(5), "j")
    told.tick(t(7 * 24 + 3, 59))
    assert ratios(told)["lab/y"][0] == 2 * GPU_H
    told.tick(t(7 * 24 + 4, 30))
    assert ratios(told)["lab/y"] == (GPU_H, 0, 2 * (168 * GPU_H + GPU_H // 2))


def test_hours_count_less_with_age_under_a_half_life():
    told = cluster().say("policy.set", T0, author="ann", ranking="decay", half_life_h=2)
    told.submitted(t(), "j", "lab/y", 1000).started(t(), "j", n=1000).ended(t(1), "j").tick(t(4, 30))
    # The hour of use is four hours back, a quarter; claims weigh 1/4, 2^-1.5, 1/2, 2^-.5 and half an hour whole.
    used, _, claim = ratios(told)["lab/y"]
    assert used == GPU_H // 4
    hours = [(hour, 2 * GPU_H if hour < 4 else GPU_H) for hour in range(5)]
    assert claim == weighted_sum(hours, 4, Decay(2))


def test_a_leaf_that_became_a_parent_keeps_what_it_used():
    told = cluster().submitted(t(), "j", "lab/y", 1000).started(t(), "j", n=1000).ended(t(1), "j")
    told.shares(t(2), "lab/y", a="40").tick(t(3))
    found = ratios(told)
    assert found["lab/y"] == (GPU_H, 0, 6 * GPU_H)
    assert found["lab/y/a"] == (0, 0, int(0.8 * GPU_H))
    assert found["lab/y/."] == (0, 0, int(1.2 * GPU_H))


def test_what_left_the_tree_stays_while_it_counts():
    told = cluster().submitted(t(), "j", "lab/y", 1000).started(t(), "j", n=1000).ended(t(1), "j")
    told.shares(t(1), "lab", 1, x="50").tick(t(2))
    assert ratios(told)["lab/y"] == (GPU_H, 0, 2 * GPU_H)


def test_pools_stand_apart():
    told = cluster().node("b", 4000, gpu_type="b200").tick(t(1))
    assert ratios(told, "b200")["lab"] == (0, 0, 4 * GPU_H)
    assert ratios(told, "nothing")["lab"] == (0, 0, 0)


@pytest.mark.parametrize("seed", range(12))
def test_ratios_are_the_sums_of_the_hours_as_booked(seed: int):
    book = Book("c")
    for event in seeded_log(seed):
        book.apply(cast("ClusterEvent", event), epoch_s(recorded(event)))
    state = book.state
    now_s, how = state.ticked_s, weighting(state)
    hours = dict(state.hours)
    for hour_s in range(state.closed_until_s, now_s, HOUR_S):
        hours[hour_s] = hour_book(state, hour_s, min(hour_s + HOUR_S, now_s), list(state.jobs)).pools
    pools = {pool for hour in hours.values() for pool in hour}
    assert pools
    for pool in pools:
        used: dict[str, list[tuple[int, int]]] = {}
        claims: dict[str, list[tuple[int, int]]] = {}
        bound: dict[str, int] = {}
        for hour_s, found in hours.items():
            for account, sums in found[pool].accounts.items() if pool in found else ():
                for above in lineage(account):
                    hour = hour_s // HOUR_S
                    used.setdefault(above, []).append((hour, sums[CHARGED] - sums[REFUNDED]))
                    claims.setdefault(above, []).append((hour, sums[CLAIM] + sums[GRANT]))
                    if hour_s + HOUR_S >= now_s > hour_s:
                        bound[above] = bound.get(above, 0) + sums[COMMITMENT]
        at_hour = hour_floor_s(now_s) // HOUR_S
        for account, ratio in standing(state, pool).items():
            assert ratio.used_gpu_ms == weighted_sum(used.get(account, ()), at_hour, how)
            assert ratio.claim_gpu_ms == weighted_sum(claims.get(account, ()), at_hour, how)
            assert ratio.committed_gpu_ms == bound.get(account, 0)


# ---------------------------------------------------------------- what runs


def only_run(told: Told) -> Any:
    (run,) = running(told.book.state)
    return run


def test_a_run_is_protected_until_its_contract_is_banked():
    told = cluster().submitted(t(), "j", "lab/y").started(t(0, 10), "j", n=1000).tick(t(0, 30))
    run = only_run(told)
    assert protection(run, epoch_s(t(0, 30))) == Protection("protected", epoch_s(t(1, 10)))
    assert protection(run, epoch_s(t(1, 10))) == Protection("interruptible", None)


def test_a_pause_puts_the_end_of_protection_off():
    told = cluster().submitted(t(), "j", "lab/y").started(t(0, 10), "j", n=1000)
    told.say("job.suspended", t(0, 20), job="j", attempt="1", releases_gpus=False).tick(t(0, 30))
    assert protection(only_run(told), epoch_s(t(0, 30))) == Protection("protected", None)
    told.say("job.resumed", t(0, 50), job="j", attempt="1")
    assert protection(only_run(told), epoch_s(t(0, 30))) == Protection("protected", epoch_s(t(1, 40)))


def test_an_unfunded_run_is_never_protected():
    told = cluster().submitted(t(), "j", None).started(t(), "j", n=1000).tick(t(0, 30))
    assert protection(only_run(told), epoch_s(t(0, 30))) == Protection("unfunded", None)


# ---------------------------------------------------------------- who waits


def names(told: Told) -> list[tuple[str, str, int | None]]:
    """(job, reason, place) of the queue."""
    return [(e.job.job, e.reason, e.ranked.position if e.ranked else None) for e in queue(told.book.state)]


def test_the_queue_is_in_the_order_of_the_ratios():
    told = cluster().submitted(t(), "run", "lab/y", 4000).started(t(), "run", n=4000)
    told.submitted(t(0, 1), "y", "lab/y").submitted(t(0, 2), "p", "lab/x/p").submitted(t(0, 3), "own", "lab")
    told.submitted(t(0, 0, 30), "free", None).submitted(t(0, 4), "typo", "lab/z").tick(t(1))
    assert names(told) == [
        ("p", IN_LINE, 1),
        ("own", IN_LINE, 2),
        ("y", IN_LINE, 3),
        ("free", UNFUNDED, 4),
        ("typo", UNFUNDED, 5),
    ]
    p, own, _, free, typo = queue(told.book.state)
    assert p.ranked is not None
    assert [account for account, _ in p.ranked.path] == ["lab", "lab/x", "lab/x/p"]
    assert p.ranked.path[1][1] == Ratio(0, 0, 1)
    assert (own.job.account, free.job.account, typo.job.account) == ("lab/.", None, None)
    assert (own.funding_reason, free.funding_reason, typo.funding_reason) == ("", "no_account", "unknown_account")
    assert typo.terms.account == "lab/z"
    assert p.since_s == epoch_s(t(0, 2))


def test_what_takes_no_part_says_why():
    told = cluster()
    told.submitted(t(), "held", "lab/y", held=True)
    told.submitted(t(0, 1), "later", "lab/y", eligible_from=t(5))
    told.submitted(t(0, 2), "wide", "lab/y", 8000, shape={"nodes": 2, "gpus_per_node_milli": 4000})
    told.submitted(t(0, 3), "big", "lab/y", 9000)
    told.submitted(t(0, 4), "other", "lab/y", gpu_type="b200")
    told.submitted(t(0, 5), "fine", "lab/y")
    told.tick(t(3))
    assert names(told) == [
        ("other", NOT_PLACEABLE, None),
        ("fine", IN_LINE, 1),
        ("held", HELD, None),
        ("later", NOT_ELIGIBLE, None),
        ("wide", NOT_PLACEABLE, None),
        ("big", NOT_PLACEABLE, None),
    ]
    assert queue(told.book.state)[3].eligible_s == epoch_s(t(5))
    assert {pool: [p.job for p in jobs] for pool, jobs in pending(told.book.state).items()} == {"h100": ["fine"]}


def test_of_several_pools_a_job_must_name_one():
    told = cluster().node("b", 4000, gpu_type="b200")
    told.submitted(t(), "any", "lab/y").submitted(t(), "b", "lab/y", gpu_type="b200").tick(t(1))
    assert names(told) == [("any", NO_POOL, None), ("b", IN_LINE, 1)]


def test_an_account_at_its_slot_limit_says_so_and_keeps_its_place():
    told = Told().node("n", 8000).shares(T0, "lab", x=("50", 4000), y="50")
    told.submitted(t(), "run", "lab/x", 3000).started(t(), "run", n=3000)
    told.submitted(t(0, 1), "two", "lab/x", 2000).submitted(t(0, 2), "one", "lab/x", 1000).tick(t(1))
    assert names(told) == [("two", SLOT_LIMIT, 1), ("one", IN_LINE, 2)]
    assert queue(told.book.state)[0].slots == (Slots("lab/x", 3000, 4000),)


def test_a_suspended_run_takes_no_slot():
    told = Told().node("n", 8000).shares(T0, "lab", x=("50", 4000), y="50")
    told.submitted(t(), "run", "lab/x", 4000).started(t(), "run", n=4000)
    told.say("job.suspended", t(0, 5), job="run", attempt="1", releases_gpus=True)
    told.submitted(t(0, 1), "next", "lab/x", 1000).tick(t(1))
    assert names(told) == [("next", IN_LINE, 1)]


def test_a_resumable_job_waits_again_after_its_preemption():
    told = cluster().submitted(t(), "j", "lab/y", resumable=True).started(t(0, 5), "j", n=1000)
    told.tick(t(1))
    assert names(told) == []
    told.ended(t(1, 30), "j", "preempted").tick(t(2))
    assert names(told) == [("j", IN_LINE, 1)]
    assert queue(told.book.state)[0].since_s == epoch_s(t(1, 30))


def test_a_job_released_after_it_was_held_waits_from_then_on():
    told = cluster().submitted(t(), "j", "lab/y", held=True).tick(t(2))
    assert names(told) == [("j", HELD, None)]
    told.say("job.updated", t(2, 10), job="j", held=False).tick(t(2, 30))
    assert names(told) == [("j", IN_LINE, 1)]
    told.say("job.ended", t(2, 40), job="j", outcome="cancelled").tick(t(3))
    assert names(told) == []


def test_a_grant_not_accrued_yet_funds_a_job_that_can_be_ranked():
    told = cluster().say(
        "grant.made",
        T0,
        author="ann",
        reason="new",
        gpu_type="h100",
        account="lab/new",
        amount_gpu_ms=GPU_H,
        since=t(1),
        until=t(2),
    )
    told.submitted(t(0, 30), "j", "lab/new").tick(t(1))
    assert names(told) == [("j", IN_LINE, 1)]


def test_a_leaf_that_had_children_is_ranked_as_a_leaf():
    told = cluster().submitted(t(), "own", "lab/x").started(t(), "own", n=1000).ended(t(1), "own")
    told.shares(t(1), "lab", 1, x="50", y="25", z="25").tick(t(2))
    told.submitted(t(2), "j", "lab/x").tick(t(3))
    (entry,) = queue(told.book.state)
    assert entry.ranked is not None
    assert [account for account, _ in entry.ranked.path] == ["lab", "lab/x", "lab/x/."]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2000))
def test_the_queue_of_any_log_is_in_order_and_names_its_reasons(seed: int):
    book = Book("c")
    for event in seeded_log(seed):
        book.apply(cast("ClusterEvent", event), epoch_s(recorded(event)))
        if not isinstance(event, ClockTicked | SharesSet | JobSubmitted):
            continue
        found = queue(book.state)
        assert len({entry.job.job for entry in found}) == len(found)
        assert {entry.reason for entry in found} <= REASONS.keys()
        waiting = {pool: {p.job for p in jobs} for pool, jobs in pending(book.state).items()}
        ranked: dict[str, set[str]] = {}
        for entry in found:
            if entry.ranked is not None:
                ranked.setdefault(entry.pool, set()).add(entry.job.job)
        assert ranked == waiting
    assert isinstance(weighting(book.state), Sliding | Decay)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_kept_between_looks_is_what_a_fresh_look_finds(seed: int):
    """Asked after every event, late ones and decisions among them, against a book that was just read from its bytes."""
    book = Book("c")
    for place, event in enumerate(seeded_log(seed, hours=12, jobs=20)):
        book.apply(cast("ClusterEvent", event), epoch_s(recorded(event)))
        book.take()
        asked = _answers(book)
        if place % 7 == 0:
            fresh = Book(book.state.cluster)
            fresh.resume(decode(encode(book.state)))
            assert asked == _answers(fresh)


def _answers(book: Book) -> tuple[Any, ...]:
    state = book.state
    pools = sorted(state.health_at(state.ticked_s))
    runs = sorted(running(state), key=lambda run: run.run)
    return queue(state), {pool: (standing(state, pool), slots(state, pool)) for pool in pools}, runs
