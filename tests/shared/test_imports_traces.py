"""The public traces go in: every row by name, and as many GPU-hours as a few lines over the raw file find.

Expected numbers are computed here with csv and integers, or counted once by hand with other tools.
"""
# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import csv
from collections import Counter
from datetime import UTC, datetime

import pytest

from ledger.events.decisions import ClockTicked
from ledger.units import epoch_s
from streams.backfill import backfill
from streams.sources.files.mapping import shipped
from streams.sources.history import History, seen
from streams.sources.reading import Tally, cluster_events_of, tallied
from streams.sources.registry import detect, read
from streams.sources.setup import preamble

pytestmark = pytest.mark.shared

FILES = {
    "mit_supercloud_slurm.csv": ("mit_supercloud", {"header": 1, "first_statement": 2_401, "job_without_gpus": 7_227}),
    "philly.csv": ("philly", {"header": 1, "blank": 1, "first_statement": 82_247}),
    "openb_pod_list_default.csv": (
        "openb",
        {"header": 1, "first_statement": 6_203, "never_started": 861, "job_without_gpus": 1_088},
    ),
    "openb_node_list_gpu_node.csv": ("openb_nodes", {"header": 1, "node": 1_213}),
    "openb_node_list_all_node.csv": ("openb_nodes", {"header": 1, "node": 1_213, "node_without_gpus": 310}),
}


@pytest.fixture(scope="module")
def imported(shared):
    """(events, tally, mapping) of a trace, read once."""
    kept = {}

    def of(name):
        if name not in kept:
            mapping, tally = shipped(FILES[name][0]), Tally()
            data = (shared / "data" / "traces" / name).read_bytes()
            kept[name] = (list(cluster_events_of(tallied(read(detect(data), data, mapping), tally))), tally, mapping)
        return kept[name]

    return of


@pytest.fixture(scope="module")
def raw(shared):
    return lambda name: list(csv.DictReader((shared / "data" / "traces" / name).read_text().splitlines()))


def gpu_ms(events):
    """Occupied GPU-milliseconds of all runs; what still runs counts until it was last seen."""
    return sum(
        sum(p.gpus_milli for p in e.data.placements) * (epoch_s(e.data.ended_at or e.time) - epoch_s(e.data.started_at))
        for e in events
        if e.type == "tenure.run.observed.v1"
    )


@pytest.mark.parametrize("name", FILES)
def test_every_row_has_a_name_and_they_add_up(imported, shared, name):
    _, tally, _ = imported(name)
    assert dict(tally.counts) == FILES[name][1]
    tally.check((shared / "data" / "traces" / name).read_bytes().count(b"\n"))
    assert tally.dead_letters == 0


def test_mit_gpu_hours(imported, raw):
    expected = 0
    for row in raw("mit_supercloud_slurm.csv"):
        for part in row["tres_alloc"].split(","):
            if part.startswith("1002="):
                expected += int(part[5:]) * 1_000 * (int(row["time_end"]) - int(row["time_start"]))
    events, _, _ = imported("mit_supercloud_slurm.csv")
    assert expected > 0
    assert gpu_ms(events) == expected


def test_mit_rows_whose_ids_went_through_float_are_different_jobs(imported, raw):
    rows = raw("mit_supercloud_slurm.csv")
    assert (len(rows), len({row["id_job"] for row in rows})) == (9_628, 9_582)
    events, _, _ = imported("mit_supercloud_slurm.csv")
    assert len({e.data.job for e in events}) == 2_401


def test_mit_runs_lie_on_the_nodes_the_row_names(imported, raw):
    by_row = {e.data.job.split("#")[1]: e for e in imported("mit_supercloud_slurm.csv")[0]}
    for number, row in enumerate(raw("mit_supercloud_slurm.csv"), start=1):
        if str(number) in by_row:
            placed = [p.node for p in by_row[str(number)].data.placements]
            assert all(f"'{node}'" in row["nodelist"] for node in placed)
            assert len(placed) <= int(row["nodes_alloc"])


def test_philly_gpu_hours(imported, raw):
    expected = sum(float(row["gpu_time"]) for row in raw("philly.csv"))
    assert expected == int(expected)
    assert gpu_ms(imported("philly.csv")[0]) == int(expected) * 1_000


def test_philly_rows_that_repeat_another_are_jobs_of_their_own(imported, raw):
    """The file has no ids, so it cannot tell a repeated row from a repeated job; the hours of both count."""
    rows = Counter(tuple(row.values()) for row in raw("philly.csv"))
    assert sum(n - 1 for n in rows.values()) == 65
    events, _, _ = imported("philly.csv")
    assert len({(e.data.job, e.data.attempt) for e in events}) == 82_247
    assert len({e.id for e in events}) == 82_247


def test_philly_accounts_are_its_virtual_clusters(imported, raw):
    expected = Counter(f"philly/{row['cluster']}" for row in raw("philly.csv"))
    assert Counter(e.data.account for e in imported("philly.csv")[0]) == expected
    assert len(expected) == 15


def test_openb_gpu_hours_with_fractions(imported, raw):
    rows = [row for row in raw("openb_pod_list_default.csv") if row["scheduled_time"] and row["num_gpu"] != "0"]
    expected = sum(
        int(row["num_gpu"]) * int(row["gpu_milli"]) * (int(row["deletion_time"]) - int(row["scheduled_time"]))
        for row in rows
    )
    events, _, _ = imported("openb_pod_list_default.csv")
    assert gpu_ms(events) == expected
    fractions = [e for e in events if e.type == "tenure.run.observed.v1" and e.data.placements[0].gpus_milli % 1_000]
    assert len(fractions) == sum(row["gpu_milli"] != "1000" for row in rows)


def test_openb_pods_that_never_ran_waited_and_left(imported, raw):
    rows = {
        row["name"]: row
        for row in raw("openb_pod_list_default.csv")
        if not row["scheduled_time"] and row["num_gpu"] != "0"
    }
    events, _, _ = imported("openb_pod_list_default.csv")
    submitted = [e for e in events if e.type == "tenure.job.submitted.v1"]
    ended = [e for e in events if e.type == "tenure.job.ended.v1"]
    assert {e.data.job for e in submitted} == {e.data.job for e in ended} == set(rows)
    origin = int(datetime(2023, 1, 1, tzinfo=UTC).timestamp())
    assert all(epoch_s(e.time) - origin == int(rows[e.data.job]["creation_time"]) for e in submitted)
    assert {(e.data.outcome, e.data.attempt) for e in ended} == {("cancelled", None)}


def test_openb_pods_running_at_the_traces_end_have_not_ended(imported, raw):
    last = max(int(row["deletion_time"]) for row in raw("openb_pod_list_default.csv"))
    cut_off = {
        row["name"]
        for row in raw("openb_pod_list_default.csv")
        if row["pod_phase"] == "Running" and int(row["deletion_time"]) == last and row["num_gpu"] != "0"
    }
    events, _, _ = imported("openb_pod_list_default.csv")
    running = {e.data.job for e in events if e.type == "tenure.run.observed.v1" and e.data.ended_at is None}
    assert cut_off
    assert running == cut_off


def test_openb_nodes(imported):
    events, _, _ = imported("openb_node_list_gpu_node.csv")
    assert sum(e.data.gpus_milli for e in events) == 6_212_000
    assert len({e.data.node for e in events}) == 1_213
    assert {e.data.state for e in events} == {"available"}


@pytest.mark.parametrize("name", ["mit_supercloud_slurm.csv", "philly.csv", "openb_pod_list_default.csv"])
def test_a_trace_becomes_a_log(imported, name):
    """Each run before the tick that closes its first hour, each hour closed once, every event once."""
    events, _, mapping = imported(name)
    history = History()
    list(seen(events, history))
    first = preamble(mapping, history)
    log = list(backfill(events, recorded_at=datetime(2026, 1, 1, tzinfo=UTC), set_up=first))
    assert [e.type for e in log[: len(first)]] == [e.type for e in first]
    closed_s = 0
    for event in log[len(first) :]:
        if isinstance(event, ClockTicked):
            assert epoch_s(event.data.at) - 300 > closed_s
            closed_s = epoch_s(event.data.at) - 300
        elif event.type == "tenure.run.observed.v1":
            assert epoch_s(event.data.started_at) >= closed_s
    ends = [epoch_s(e.data.ended_at or e.time) for e in events if e.type == "tenure.run.observed.v1"]
    assert closed_s == -(-max(ends) // 3_600) * 3_600
    assert len(log) - len(first) - sum(isinstance(e, ClockTicked) for e in log) == len(events)


@pytest.mark.parametrize("name", ["mit_supercloud_slurm.csv", "philly.csv"])
def test_inferred_nodes_hold_every_run_at_every_instant(imported, name):
    events, _, mapping = imported(name)
    history = History()
    list(seen(events, history))
    size = {e.data.node: e.data.gpus_milli for e in preamble(mapping, history) if e.type == "tenure.node.observed.v1"}
    assert size
    changes = [
        (second, sign * p.gpus_milli, p.node)
        for e in events
        for p in e.data.placements
        for second, sign in ((epoch_s(e.data.started_at), 1), (epoch_s(e.data.ended_at), -1))
    ]
    used: Counter[str] = Counter()
    for _, milli, node in sorted(changes):
        used[node] += milli
        assert used[node] <= size[node]
    assert not +used
