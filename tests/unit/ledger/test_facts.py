"""The facts as bytes and as one number."""

import gc
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from ledger.facts import FORMAT, MODULUS, FactsHash, OtherFormat, decode, encode, records
from ledger.hourly import HourBook, hour_book
from ledger.state import State
from ledger.statements import digest
from tests.oracle.logs import seeded_log
from tests.support.folded import Folded, folded
from tests.support.said import (
    checkpointed,
    committed,
    ended,
    expired,
    grant,
    held,
    issued,
    maintenance,
    node,
    policy,
    reassigned,
    resumed,
    run,
    s,
    say,
    settled,
    shares,
    small_cluster,
    started,
    submitted,
    suspended,
    t,
    tick,
    updated,
)

EVERYTHING: list[Any] = [
    *small_cluster(),
    policy("08:00", window_h=24),
    shares("08:01", "lab/a", {"x": ("50.5", 2)}, gpu_type="h100"),
    grant("08:02", "lab/b", 1000, "08:00", "10:00"),
    maintenance("08:03", "w", ["m", "n"], "day 3 08:00", "day 3 12:00"),
    submitted("08:05", shape={"nodes": 1, "gpus_per_node_milli": 1000}, eligible_from=t("08:06")),
    updated("08:06", priority=2, resumable=True),
    started("08:10"),
    suspended("08:20", releases_gpus=True),
    resumed("08:25"),
    checkpointed("08:30"),
    say("gpu.idle_observed", "08:40", job="j", attempt="1", since=t("08:35")),
    ended("08:45", outcome="preempted", exit_code=3),
    ended("08:50", attempt=None, outcome="cancelled"),
    run("08:55", "k", start="08:00", suspensions=[{"since": t("08:10")}], submitted_at=t("07:00"), gang="g"),
    reassigned("08:56", "lab/b", "k"),
    node("08:57", "m", 8, gpu_type="b200"),
    say("node.removed", "08:58", node="m"),
    committed("08:58", "j/1", "k/1"),
    issued("08:58:10", "k/1"),
    settled("08:58:20", "k/1"),
    held("08:58:30", "09:00"),
    committed("08:59", "k/1", plan="drain/2/n", job=None, mode="observe"),
    expired("09:00", "hold_expired", wasted_gpu_ms=5),
    tick("10:05"),
]


@pytest.fixture
def book() -> Folded:
    return folded(EVERYTHING)


def test_what_is_written_is_read_back(book: Folded):
    before = book.book.state
    after = decode(encode(before))
    assert dict(records(after)) == dict(records(before))
    assert FactsHash(after).value == FactsHash(before).value
    counters = ("cluster", "seq", "recorded_s", "ticked_s", "horizon_s", "first_node_s", "closed_until_s", "opens_s")
    assert {name: getattr(after, name) for name in counters} == {name: getattr(before, name) for name in counters}
    for name, facts in before.jobs.items():
        assert (after.jobs[name].seq, after.jobs[name].recorded_s) == (facts.seq, facts.recorded_s)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_cached_is_made_again(seed: int):
    before = folded(seeded_log(seed, hours=12, nodes=4, jobs=12)).book.state
    before.read_all()
    after = decode(encode(before))
    assert after.derived == before.derived
    assert set(after.live) == set(before.live)
    assert after.node_edges == before.node_edges
    assert set(after.hours) == set(before.hours)
    for hour_s, pools in before.hours.items():
        for pool, found in pools.items():
            again = after.hours[hour_s].get(pool)
            zero = [0] * 7
            for account, sums in found.accounts.items():
                assert (again.accounts.get(account, zero) if again else zero) == sums
            if again is None:
                assert not any(found.nodes)
                assert not found.claimed_gpu_ms
            else:
                assert (again.nodes, again.claimed_gpu_ms) == (found.nodes, found.claimed_gpu_ms)


def test_encoding_twice_gives_the_same_bytes(book: Folded):
    state = book.book.state
    assert encode(decode(encode(state))) == encode(state)
    body = json.loads(zlib.decompress(encode(state)))
    assert set(body) == {"format", "seq", "recorded_s", "common", "nodes", "jobs", "plans"}


def test_the_hash_is_the_sum_of_the_digests_of_all_records(book: Folded):
    state = book.book.state
    assert FactsHash(state).value == sum(digest(record) for _, record in records(state)) % MODULUS


def test_the_hash_changes_with_every_event_that_changes_facts():
    book, seen = Folded(), set()
    for event in EVERYTHING:
        book.fold(event)
        seen.add(book.hash_from_scratch())
        assert book.hash_kept() == book.hash_from_scratch()
    assert len(seen) == len(EVERYTHING)


def test_a_repeat_changes_no_hash(book: Folded):
    before = book.hash_from_scratch()
    for event in EVERYTHING:
        book.fold(event)
    assert book.hash_from_scratch() == before


def test_a_record_that_goes_leaves_the_sum(book: Folded):
    state = book.book.state
    kept = FactsHash(state)
    with_j = kept.value
    del state.jobs["j"]
    assert kept.update(iter([("job", "j")])) != with_j
    assert kept.value == FactsHash(state).value
    assert kept.update(iter([("job", "never"), ("node", "never")])) == FactsHash(state).value


def test_a_refused_decision_is_remembered_and_nothing_else_of_it(book: Folded):
    state = book.book.state
    before = dict(records(state))
    book.fold(shares("10:06", "lab", {"a": 99, "b": 2}, 1))
    after = dict(records(state))
    assert {key for key in after if after[key] != before[key]} == {("", "")}
    assert len(state.decided) == 8
    assert ("test", EVERYTHING[-2].id) not in state.decided


def test_two_books_of_one_cluster_only_are_equal():
    one, other = Folded(cluster="c"), Folded(cluster="d")
    assert one.hash_from_scratch() != other.hash_from_scratch()


def test_a_checkpoint_before_anything_was_told():
    state = decode(encode(Folded().book.state))
    assert (state.opens_s, state.closed_hours(0, s("12:00"))) == (None, range(0))


def test_nobody_looks_for_garbage_while_a_state_is_made(book: Folded, monkeypatch: pytest.MonkeyPatch):
    data, seen = encode(book.book.state), []
    monkeypatch.setattr("ledger.facts._remake", lambda _: seen.append(gc.isenabled()))
    decode(data)
    with pytest.raises(zlib.error):
        decode(b"")
    assert (seen, gc.isenabled()) == ([False], True)
    gc.disable()
    try:
        decode(data)
        assert not gc.isenabled(), "whoever switched it off has his reasons"
    finally:
        gc.enable()


def test_only_jobs_that_may_have_touched_an_hour_are_asked_for_its_sums(monkeypatch: pytest.MonkeyPatch):
    """A wait without a contract is no demand, however long it is."""
    idle = submitted("08:00", "idle", min_runtime_s=0)
    book = folded([*small_cluster(), submitted("08:00"), started("08:10"), idle, tick("11:05")])
    asked: list[list[str]] = []

    def told(state: State, a_s: int, b_s: int, jobs: dict[str, None]) -> HourBook:
        asked.append(list(jobs))
        return hour_book(state, a_s, b_s, jobs)

    monkeypatch.setattr("ledger.facts.hour_book", told)
    again = decode(encode(book.book.state))
    assert asked == [["j"]] * 3
    assert again.hours == book.book.state.hours


GOLDEN = Path(__file__).parents[2] / "golden" / "facts"


def test_facts_of_this_format_are_read_and_written_as_they_were():
    """Fails where what is encoded changes: then FORMAT grows, and the book of that format is recorded here."""
    data = (GOLDEN / f"format-{FORMAT}.json.z").read_bytes()
    assert json.loads(zlib.decompress(encode(decode(data)))) == json.loads(zlib.decompress(data))


@pytest.mark.parametrize("other", [None, FORMAT - 1, FORMAT + 1])
def test_facts_of_another_format_are_refused_with_what_to_do(other: int | None):
    body = json.loads(zlib.decompress((GOLDEN / f"format-{FORMAT}.json.z").read_bytes()))
    del body["format"]
    data = zlib.compress(json.dumps(body if other is None else {**body, "format": other}).encode())
    with pytest.raises(OtherFormat, match="tenure replay --switch"):
        decode(data)
