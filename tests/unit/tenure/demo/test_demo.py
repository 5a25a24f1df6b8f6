"""The log of a demo: bytes, order, ids, and every kind of trouble."""

import json
from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from ledger.events import EVENT
from ledger.units import HOUR_S, epoch_s
from tenure.demo import CLUSTER, Demo, generate


@pytest.fixture(scope="module")
def events(short: Demo) -> list[dict[str, Any]]:
    return [json.loads(line) for line in short.events]


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == f"tenure.{kind}.v1"]


def second(text: str) -> int:
    return epoch_s(datetime.fromisoformat(text))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(short: Demo):
    assert generate(short.seed, days=3).events == short.events
    assert generate(short.seed + 1, days=3).events != short.events


@pytest.mark.parametrize("seed", [0, 15, 32, 35])
def test_one_day_is_enough_for_the_whole_story(seed: int):
    demo = generate(seed, days=1)
    kinds = {json.loads(line)["type"] for line in demo.events}
    assert {"tenure.node.removed.v1", "tenure.gpu.idle_observed.v1", "tenure.run.reassigned.v1"} <= kinds


def test_no_day_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one day"):
        generate(1, days=0)


def test_every_line_is_an_event_of_the_contract(short: Demo):
    for line in short.events:
        event = EVENT.validate_json(line)
        assert event.recordedtime is not None
        assert event.time <= event.recordedtime


def test_recorded_times_never_go_back_and_end_with_the_last_tick(short: Demo, events: list[dict[str, Any]]):
    recorded = [datetime.fromisoformat(event["recordedtime"]) for event in events]
    assert all(a <= b for a, b in pairwise(recorded))
    assert events[0]["type"] == "tenure.policy.set.v1"
    assert events[-1]["id"] == f"{CLUSTER}/2026-09-04T00:05:00Z"
    assert epoch_s(recorded[-1]) == short.span.ends_s + 300


def test_the_clock_ticks_five_minutes_past_every_hour(short: Demo, events: list[dict[str, Any]]):
    at = [second(event["data"]["at"]) for event in of(events, "clock.ticked")]
    opens_s = short.span.opens_s
    assert at == [opens_s + hour * HOUR_S + 300 for hour in range(1, 73)]
    assert all(event["time"] == event["recordedtime"] for event in of(events, "clock.ticked"))


def test_shares_begin_at_the_root_and_each_revision_knows_the_last(events: list[dict[str, Any]]):
    revisions: dict[tuple[str, str], int] = {}
    stale = []
    sets = of(events, "shares.set")
    assert sets[0]["data"]["parent"] == "aurora-lab"
    for event in sets:
        data = event["data"]
        pool = (data["parent"], data.get("gpu_type", ""))
        if data["expected_revision"] == revisions.get(pool, 0):
            revisions[pool] = revisions.get(pool, 0) + 1
        else:
            stale.append(event["id"])
        assert sum(float(child["share_percent"]) for child in data["children"]) <= 100
    assert len(stale) == 1
    assert sum(event["data"].get("backdated", False) for event in sets) == 1
    assert {pool for _, pool in revisions} == {"", "B200"}


def test_requests_are_answered_in_every_way(events: list[dict[str, Any]]):
    asked = {event["data"]["request"] for event in of(events, "share.requested")}
    answers = {event["data"]["request"]: event["data"]["decision"] for event in of(events, "share.decided")}
    assert set(answers) == asked
    assert set(answers.values()) == {"approved", "amended", "refused"}


def test_two_ids_have_two_contents_and_other_repeats_are_exact(events: list[dict[str, Any]]):
    contents: dict[tuple[str, str], set[str]] = defaultdict(set)
    count: Counter[tuple[str, str]] = Counter()
    for event in events:
        key = (event["source"], event["id"])
        count[key] += 1
        contents[key].add(json.dumps({**event, "recordedtime": None}))
    clashing = [key for key, bodies in contents.items() if len(bodies) > 1]
    assert len(clashing) == 2
    assert sum(n > 1 for n in count.values()) > 30
    to_the_byte = Counter(json.dumps(event) for event in events)
    assert any(n > 1 for n in to_the_byte.values())


def test_some_statements_are_hours_late_and_most_seconds(events: list[dict[str, Any]]):
    seen: set[tuple[str, str]] = set()
    lags: list[int] = []
    for event in events:
        if (event["source"], event["id"]) not in seen and event["source"] != "demo/people":
            seen.add((event["source"], event["id"]))
            lags.append(second(event["recordedtime"]) - second(event["time"]))
    assert sum(lag <= 20 for lag in lags) > 0.95 * len(lags)
    assert sum(HOUR_S <= lag < 12 * HOUR_S for lag in lags) > 10
    assert sum(lag >= 20 * HOUR_S for lag in lags) >= 1


def test_every_kind_of_trouble_is_there(events: list[dict[str, Any]]):
    outcomes = Counter(event["data"]["outcome"] for event in of(events, "job.ended"))
    for outcome, least in {
        "succeeded": 300,
        "failed": 50,
        "cancelled": 100,
        "timeout": 10,
        "out_of_memory": 10,
        "node_failure": 2,
        "preempted": 50,
        "requeued": 5,
    }.items():
        assert outcomes[outcome] >= least, outcome
    states = Counter(event["data"]["state"] for event in of(events, "node.observed"))
    assert states["down"] >= 2
    assert states["draining"] >= 5
    assert states["planned_down"] >= 5
    assert len(of(events, "node.removed")) == 1
    assert len(of(events, "grant.made")) == 2
    assert len(of(events, "run.reassigned")) == 1
    released = {event["data"]["releases_gpus"] for event in of(events, "job.suspended")}
    assert released == {True, False}
    assert len(of(events, "gpu.idle_observed")) > 5
    jobs = [event["data"] for event in of(events, "job.submitted")]
    assert any(job.get("account") == "aurora-lab/langauge/data" for job in jobs)
    assert any("account" not in job for job in jobs)
    assert {job.get("min_runtime_s", 0) for job in jobs} >= {0, 8 * HOUR_S, 12 * HOUR_S}
    assert {job["kind"] for job in jobs} == {"batch", "session", "debug"}
    assert any(job.get("held") for job in jobs)
    runs = [event["data"] for event in of(events, "run.observed")]
    assert any("ended_at" not in run for run in runs)
    assert any("ended_at" in run for run in runs)


def test_highlights_are_in_the_events(short: Demo, events: list[dict[str, Any]]):
    shown = short.highlights
    runs = {(e["data"]["job"], e["data"]["attempt"]) for e in of(events, "job.started")}
    for run in (shown.preempted, shown.squatter, shown.failed_with_its_node, shown.reassigned, shown.corrected.run):
        assert (run.job, run.attempt) in runs
    said = next(
        event
        for event in of(events, "node.observed")
        if event["data"]["node"] == shown.late_node.node and event["data"]["state"] == "down"
    )
    assert second(said["time"]) == shown.late_node.since_s
    assert shown.late_node.known_before_s < second(said["recordedtime"]) < shown.late_node.known_after_s
    assert shown.late_node.recorded_s - shown.late_node.since_s == 24 * HOUR_S
    assert shown.stale_shares_id in {event["id"] for event in of(events, "shares.set")}
    assert shown.over_maximum_job in {event["data"]["job"] for event in of(events, "job.submitted")}


def test_a_corrected_end_is_told_wrongly_and_then_rightly(short: Demo, events: list[dict[str, Any]]):
    shown = short.highlights.corrected
    about = [event for event in events if event["data"].get("attempt") == shown.run.attempt]
    about = [event for event in about if event["data"]["job"] == shown.run.job]
    first = next(event for event in about if event["type"] == "tenure.job.ended.v1")
    right = next(event for event in about if event["type"] == "tenure.run.observed.v1")
    assert second(first["time"]) == shown.said_s != shown.ended_s
    assert second(right["data"]["ended_at"]) == shown.ended_s
    assert second(right["time"]) == shown.corrected_s
    assert shown.hour_s <= shown.ended_s < shown.hour_s + HOUR_S
