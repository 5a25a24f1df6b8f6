"""Questions, calendars and answers; and that docs/metrics.md says what the code does."""

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.metrics import (
    CLOSED_HOURS,
    DIMENSIONS,
    EVERY,
    FILTERS,
    METRICS,
    WATERFALL,
    Bucket,
    Metric,
    Plan,
    Question,
    Unanswerable,
    closed_hours,
    label,
    local_midnight_s,
    metrics_of,
    plan,
    zone_named,
)
from ledger.metrics.answer import whole
from ledger.metrics.calendar import buckets, first_off_the_hour
from ledger.store.sql import read
from ledger.units import HOUR_S, epoch_s

BERLIN = ZoneInfo("Europe/Berlin")
START = epoch_s(datetime(2026, 3, 2, tzinfo=UTC))
WHOLE_HOUR_ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Auckland", "America/Santiago"]


def question(*metrics: str, **given_: Any) -> Question:
    return Question(metrics=metrics, **{"from_s": START, "until_s": START + 24 * HOUR_S} | given_)


def planned(*metrics: str, **given_: Any) -> Plan:
    found = plan(question(*metrics, **given_))
    assert isinstance(found, Plan), found
    return found


def refused(*metrics: str, **given_: Any) -> str:
    found = plan(question(*metrics, **given_))
    assert isinstance(found, Unanswerable), found
    return f"{found.name}: {found.sentence}"


# ---------------------------------------------------------------- the calendar


@pytest.mark.parametrize(("month", "hours"), [(1, 744), (3, 743), (4, 720), (10, 745), (12, 744)])
def test_a_month_in_berlin_has_as_many_hours_as_its_clocks_show(month: int, hours: int):
    begin = local_midnight_s(date(2026, month, 1), BERLIN)
    end = local_midnight_s(date(2026 + month // 12, month % 12 + 1, 1), BERLIN)
    assert buckets(begin, end, "month", BERLIN) == [Bucket(begin, end)]
    assert (end - begin) // HOUR_S == hours
    assert len(buckets(begin, end, "hour", BERLIN)) == hours


@given(
    st.sampled_from(WHOLE_HOUR_ZONES),
    st.sampled_from(EVERY),
    st.integers(START // HOUR_S - 20_000, START // HOUR_S),
    st.integers(1, 20_000),
)
def test_buckets_leave_no_gap_and_overlap_nowhere(zone: str, every: Any, from_h: int, hours: int):
    hours = min(hours, 500) if every == "hour" else hours
    from_s, until_s = from_h * HOUR_S, (from_h + hours) * HOUR_S
    found = buckets(from_s, until_s, every, ZoneInfo(zone))
    assert (found[0].from_s, found[-1].until_s) == (from_s, until_s)
    assert [b.until_s for b in found[:-1]] == [b.from_s for b in found[1:]]
    assert all(b.from_s < b.until_s and b.from_s % HOUR_S == 0 for b in found)
    if every not in {"total", "hour"}:
        local = [datetime.fromtimestamp(b.from_s, ZoneInfo(zone)) for b in found[1:]]
        before = [datetime.fromtimestamp(b.from_s - 1, ZoneInfo(zone)) for b in found[1:]]
        assert all(last.date() < at.date() for last, at in zip(before, local, strict=True))
        assert every != "week" or {at.weekday() for at in local} <= {0}
        assert every != "month" or {at.day for at in local} <= {1}


def test_a_day_that_ends_twice_is_one_day():
    santiago = ZoneInfo("America/Santiago")  # 2026-04-04 shows 23:00 to 24:00 twice
    begin, end = (local_midnight_s(date(2026, 4, day), santiago) for day in (4, 5))
    assert end - begin == 25 * HOUR_S
    assert buckets(begin, end, "day", santiago) == [Bucket(begin, end)]


def test_a_day_whose_midnight_is_skipped_begins_at_the_change():
    beirut = ZoneInfo("Asia/Beirut")  # 2026-03-29 begins at 01:00
    begin = local_midnight_s(date(2026, 3, 29), beirut)
    assert datetime.fromtimestamp(begin, beirut).isoformat() == "2026-03-29T01:00:00+03:00"
    assert local_midnight_s(date(2026, 3, 30), beirut) - begin == 23 * HOUR_S


def test_labels_are_what_people_call_a_bucket():
    begin = local_midnight_s(date(2026, 3, 29), BERLIN)
    bucket = Bucket(begin, begin + 23 * HOUR_S)
    assert {every: label(bucket, every, BERLIN) for every in EVERY} == {
        "total": "2026-03-29T00:00+01:00/2026-03-30T00:00+02:00",
        "hour": "2026-03-29T00:00+01:00",
        "day": "2026-03-29",
        "week": "2026-W13",
        "month": "2026-03",
    }


@pytest.mark.parametrize("name", ["", "Nowhere", "../etc/passwd", "/etc/passwd", "Europe", "a\0b"])
def test_a_zone_that_does_not_exist_is_none(name: str):
    assert zone_named(name) is None


def test_a_zone_may_be_off_the_hour_for_a_part_of_the_year():
    lord_howe = ZoneInfo("Australia/Lord_Howe")  # +11 in summer, +10:30 in winter
    summer, winter = (epoch_s(datetime(2026, month, 1, tzinfo=UTC)) for month in (1, 7))
    assert first_off_the_hour(lord_howe, summer, summer + 48 * HOUR_S) is None
    assert first_off_the_hour(lord_howe, winter, winter + HOUR_S) == winter
    assert first_off_the_hour(lord_howe, summer, winter) == epoch_s(datetime(2026, 4, 4, 15, tzinfo=UTC))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Australia/Adelaide", "Asia/Kathmandu", "America/St_Johns"])
def test_zones_off_the_whole_hour_are_refused_by_name_for_what_is_kept_by_hours(zone: str):
    for definition in METRICS.values():
        if all(source.by_hour for source in definition.sources):
            assert refused(definition.name, tz=zone).startswith(f"zone_off_the_hour: {definition.name} ")
        else:
            assert planned(definition.name, tz=zone, every="day").buckets


def test_what_counts_instants_is_cut_in_any_zone():
    found = planned("goodput", tz="Asia/Kolkata", every="hour", until_s=START + 2 * HOUR_S)
    assert [b.from_s - START for b in found.buckets] == [0, 1800, 5400]
    assert (found.parameters["hourly"], len(found.parameters["edges"])) == (False, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_", "name"),
    [
        ({"metrics": ()}, "no_metric"),
        ({"metrics": ("speed",)}, "unknown_metric"),
        ({"by": ("colour",)}, "unknown_dimension"),
        ({"every": "year"}, "unknown_period"),
        ({"by": ("user",)}, "not_by_dimension"),
        ({"account": "lab"}, "not_by_dimension"),
        ({"until_s": START}, "empty_period"),
        ({"from_s": -HOUR_S}, "empty_period"),
        ({"until_s": 1 << 33}, "empty_period"),
        ({"depth": 256}, "empty_period"),
        ({"tz": "Nowhere"}, "unknown_zone"),
        ({"from_s": START + 1}, "not_whole_hours"),
        ({"until_s": START + 5401}, "not_whole_hours"),
        ({"until_s": START + 20_001 * HOUR_S, "every": "hour"}, "too_many_periods"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(given_: dict[str, Any], name: str):
    fields: dict[str, Any] = {"metrics": ("availability",), "from_s": START, "until_s": START + HOUR_S} | given_
    found = plan(Question(**fields))
    assert isinstance(found, Unanswerable)
    assert found.name == name
    assert len(found.sentence) > 20


def test_a_refusal_says_what_can_be_asked():
    assert "knows cluster, pool, node" in refused("availability", by=("user",))
    assert "does not know node here" in refused("utilization", "goodput", by=("node",))


def test_a_decade_of_months_is_no_question_of_size():
    assert len(planned("occupancy", every="month", until_s=START + 24 * HOUR_S * 3650).buckets) == 120


# ---------------------------------------------------------------- how it is asked


def test_the_first_query_that_knows_the_dimensions_answers():
    def query(**given_: Any) -> str:
        return planned("occupied_gpu_hours", **given_).asked[0][1].query

    assert query() == query(by=("pool",), cluster="c") == "metric_capacity"
    assert query(by=("node",)) == "metric_node_capacity"
    assert query(user="ann") == query(by=("account",)) == query(by=("node",), user="ann") == "metric_occupied"


def test_hours_need_no_edges():
    found = planned("occupancy", every="hour", tz="Europe/Berlin")
    assert (found.parameters["hourly"], found.parameters["edges"]) == (True, [START])
    assert len(found.buckets) == 24
    days = planned("occupancy", every="day", tz="Europe/Berlin")
    assert (days.parameters["hourly"], days.parameters["edges"]) == (False, [START, START + 23 * HOUR_S])


def test_a_metric_asked_twice_is_answered_once():
    assert [d.name for d, _ in planned("occupancy", "availability", "occupancy").asked] == ["occupancy", "availability"]


def test_every_query_is_a_file_and_binds_what_a_question_gives():
    given_ = planned("availability").parameters.keys()
    sources = {source for definition in METRICS.values() for source in definition.sources} | {CLOSED_HOURS}
    queries = read("queries")
    assert {source.query for source in sources} == {name for name in queries if name.startswith("metric_")}
    for source in sources:
        bound = set(re.findall(r"\{(\w+):", queries[source.query]))
        assert bound <= given_
        assert {name.removeprefix("by_") for name in bound if name.startswith("by_")} == (
            source.dimensions if source is not CLOSED_HOURS else set()
        )
        # A filter that no query can apply must not be dropped in silence.
        assert source is CLOSED_HOURS or source.dimensions & set(FILTERS) <= bound


def test_the_waterfall_is_of_metrics_by_cluster_and_pool():
    for name in WATERFALL:
        assert METRICS[name].source(frozenset({"cluster", "pool"})) is not None


# ---------------------------------------------------------------- what is answered


HOURS = [Bucket(START, START + HOUR_S), Bucket(START + HOUR_S, START + 2 * HOUR_S)]


def row(bucket: Bucket, available: int, capacity: int, **group: str) -> dict[str, object]:
    return {"bucket_s": bucket.from_s, "available_gpu_ms": available, "capacity_gpu_ms": capacity, **group}


def test_groups_are_in_order_and_each_without_a_gap():
    asked = question("availability", by=("pool", "cluster"))
    rows = [row(HOURS[1], 1, 2, cluster="d", pool="x"), row(HOURS[0], 3, 4, cluster="c", pool="y")]
    closed = closed_hours(
        [
            {"cluster": "c", "bucket_s": START, "hours": 1},
            {"cluster": "d", "bucket_s": START + HOUR_S, "hours": 1},
        ]
    )
    found = metrics_of(METRICS["availability"], asked, HOURS, rows, closed)
    assert [(m.group, m.bucket, m.value, m.coverage) for m in found] == [
        ((("cluster", "c"), ("pool", "y")), HOURS[0], 0.75, 1.0),
        ((("cluster", "c"), ("pool", "y")), HOURS[1], None, 0.0),
        ((("cluster", "d"), ("pool", "x")), HOURS[0], None, 0.0),
        ((("cluster", "d"), ("pool", "x")), HOURS[1], 0.5, 1.0),
    ]
    assert found[0].exact == Fraction(3, 4)
    assert found[1].exact is None
    assert (found[0].of("pool"), found[0].of("user")) == ("y", "")


def test_coverage_of_all_is_that_of_the_clusters_asked_for():
    closed = {("c", START): 1, ("d", START): 1, ("d", START + HOUR_S): 1}
    (first, second) = metrics_of(METRICS["availability"], question("availability"), HOURS, [], closed)
    assert [(m.covered, m.coverable) for m in (first, second)] == [(2, 2), (1, 2)]
    (first, second) = metrics_of(METRICS["availability"], question("availability", cluster="c"), HOURS, [], closed)
    assert [(m.covered, m.coverable) for m in (first, second)] == [(1, 1), (0, 1)]


def test_a_metric_may_know_its_own_coverage_and_an_amount_is_over_one_gpu_hour():
    rows = [{"bucket_s": START, "idle_gpu_ms": 9, "covered_gpu_ms": 3, "occupied_gpu_ms": 4}]
    first, second = metrics_of(METRICS["idle_gpu_hours"], question("idle_gpu_hours"), HOURS, rows, {})
    assert (first.numerator, first.denominator, first.coverage) == (9, 3_600_000, 0.75)
    assert (second.numerator, second.value, second.coverage) == (0, 0.0, None)


def test_nothing_to_cover_has_no_coverage():
    metric = Metric("utilization", "ratio", HOURS[0], (), 0, 0, 0, 0)
    assert (metric.value, metric.coverage) == (None, None)


def test_a_part_that_is_no_whole_number_stops_the_answer():
    with pytest.raises(AssertionError, match=r"1\.0 is not a whole number"):
        whole(1.0)


# ---------------------------------------------------------------- the document


DOC = (Path(__file__).resolve().parents[3] / "docs" / "metrics.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| `(\w+)` / (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
FAMILIES = re.findall(r"^## .+?\n(.*?)^By (.+?)\.$", DOC, re.MULTILINE | re.DOTALL)


def test_the_document_says_of_every_metric_what_the_code_does():
    documented = [row for table, _ in FAMILIES for row in ROW.findall(table)]
    declared = [
        (
            definition.name,
            definition.meaning,
            definition.formula,
            definition.numerator,
            f"{d:,}" if isinstance(d := definition.denominator, int) else f"`{d}`",
            definition.unit,
            f"`{definition.covered}` / `{definition.coverable}`" if definition.covered else "closed hours",
        )
        for definition in METRICS.values()
    ]
    assert documented == declared


def test_the_document_says_by_what_a_metric_may_be_asked():
    for table, by in FAMILIES:
        for name, *_ in ROW.findall(table):
            assert by.split(", ") == [d for d in DIMENSIONS if d in METRICS[name].dimensions], name


def test_the_document_names_the_steps_of_the_waterfall():
    assert " → ".join(WATERFALL) in DOC
