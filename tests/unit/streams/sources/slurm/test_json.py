"""Slurm's JSON of old and new data parsers: the same facts, the same events, under the same ids as out of text."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr,arg-type"

import json
from datetime import UTC, datetime

import pytest

from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.reading import Unreadable, events_of, name_of
from streams.sources.registry import detect, read

CONFIG = SourceConfig(cluster="c")
T0 = 1_796_000_000


def golden(root, name):
    return (root / "tests" / "golden" / "slurm" / name).read_bytes()


def events(kind, data, config=CONFIG):
    return list(events_of(read(kind, data, config)))


# ---------------------------------------------------------------- accounting


@pytest.mark.parametrize("name", ["accounting_v0.0.38.json", "accounting_v0.0.42.json"])
def test_accounting_says_the_same_in_json_and_text(root, name):
    """Equal facts have equal ids, so that importing both charges once."""
    from_json = events("slurmdb-jobs-json", golden(root, name))
    from_text = events("sacct", golden(root, "accounting.txt"))
    assert from_json == from_text
    assert len({e.id for e in from_json}) == 3


def test_an_accounted_run_is_read_whole(root):
    run, submitted, ended = events("slurmdb-jobs-json", golden(root, "accounting_v0.0.42.json"))
    data = run.data
    assert (data.job, data.attempt, data.user, data.account) == ("6_0", str(T0), "eve", "vision")
    assert (data.outcome, data.exit_code, data.time_limit_s) == ("node_failure", 137, 7_200)
    assert (epoch_s(data.started_at), epoch_s(data.ended_at), data.suspended_s) == (T0 + 10, T0 + 120, 10)
    assert [(p.node, p.gpus_milli) for p in data.placements] == [("gn1", 8_000), ("gn2", 8_000)]
    assert data.min_runtime_s == 7_200
    assert (submitted.data.job, submitted.data.gang, submitted.data.gpus_milli) == ("7+1", "7", 4_000)
    assert submitted.data.eligible_from is None
    assert (submitted.data.shape.nodes, submitted.data.shape.gpus_per_node_milli) == (2, 2_000)
    assert (ended.data.job, ended.data.attempt, epoch_s(ended.time)) == ("7+1", None, T0 + 300)


def test_a_requeued_row_has_an_end_and_is_an_attempt_of_its_own():
    """24.11 shows it as ["PENDING", "REQUEUED"] with start, end and nodes."""
    job = {
        "job_id": 3, "user": "eve", "account": "a", "nodes": "gn1", "state": {"current": ["PENDING", "REQUEUED"]},
        "time": {"submission": T0, "start": T0 + 1, "end": T0 + 9, "elapsed": 8, "suspended": 0},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 2}], "requested": []},
    }  # fmt: skip
    (run,) = events("slurmdb-jobs-json", json.dumps({"jobs": [job]}).encode())
    assert (run.data.outcome, epoch_s(run.data.ended_at)) == ("requeued", T0 + 9)


def test_a_row_accounting_has_not_caught_up_with_runs():
    """25.05 shows PENDING for a second after the start; nodes and a start say that it runs."""
    job = {
        "job_id": 3, "user": "eve", "account": "a", "nodes": "gn1", "state": {"current": ["PENDING"]},
        "time": {"submission": T0, "start": T0 + 1, "end": 0, "elapsed": 1, "suspended": 0},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 2}], "requested": []},
    }  # fmt: skip
    (run,) = events("slurmdb-jobs-json", json.dumps({"jobs": [job]}).encode())
    assert (run.data.ended_at, run.data.outcome) == (None, None)


# ---------------------------------------------------------------- controller


def test_old_and_new_controllers_say_the_same(root):
    at = datetime.fromtimestamp(T0 + 500, tz=UTC)
    config = CONFIG.model_copy(update={"snapshot_at": at})
    old = events("slurm-jobs-json", golden(root, "controller_v0.0.38.json"), config)
    new = events("slurm-jobs-json", golden(root, "controller_v0.0.42.json"), config)
    assert old == new


def test_a_snapshot_is_read_whole(root):
    suspended, ended, *waiting = events("slurm-jobs-json", golden(root, "controller_v0.0.42.json"))
    assert epoch_s(suspended.time) == T0 + 500, "as the answer's last_update says"
    assert suspended.data.job == "6_0"
    assert [(p.node, p.gpus_milli, p.gpu_indices) for p in suspended.data.placements] == [
        ("gn1", 4_000, (0, 1, 2, 3)),
        ("gn2", 2_000, (6, 7)),
    ]
    # It ran 60 s of its first 100 and stopped at +110: the 40 s before are placed just before that.
    assert [(epoch_s(s.since), s.until) for s in suspended.data.suspensions] == [(T0 + 70, None)]
    assert suspended.data.ended_at is None, "the end of a job that runs is an expectation"

    assert (ended.data.job, ended.data.outcome, ended.data.exit_code) == ("9", "cancelled", 143)
    assert ended.data.placements[0].gpus_milli == 1_000, "from the request: the account keeps no GPUs"
    assert ended.data.suspended_s == 5
    assert epoch_s(ended.time) == T0 + 40

    assert [e.data.job for e in waiting] == ["6_2", "6_3", "6_4"]
    assert all(e.data.held and e.data.eligible_from is None and e.data.gpus_milli == 1_000 for e in waiting)


def test_gpus_per_socket_without_the_sockets_are_refused():
    job = {
        "job_id": 3, "user_name": "eve", "job_state": ["COMPLETED"], "nodes": "gn1", "gres_detail": [],
        "submit_time": T0, "start_time": T0, "end_time": T0 + 9,
        "tres_alloc_str": "cpu=1", "tres_req_str": "cpu=1", "tres_per_socket": "gres/gpu:2",
    }  # fmt: skip
    (bad,) = read("slurm-jobs-json", json.dumps({"jobs": [job]}).encode(), CONFIG)
    assert isinstance(bad, Unreadable)
    assert (bad.reason, "per socket" in bad.sentence) == ("gpu_count_unknown", True)


# ---------------------------------------------------------------- sonar


def test_messages_one_after_another_are_statements_of_their_own_instants(root):
    found = list(read("sonar-json", golden(root, "sonar.json"), CONFIG))
    assert [name_of(r) for r in found] == ["first_statement", "step", "gpus_not_recorded", "further_statement"]
    running, ended = events_of(found)
    assert running.time == datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
    assert (running.data.job, running.data.attempt) == (ended.data.job, ended.data.attempt)
    assert epoch_s(running.data.submitted_at) > epoch_s(running.data.started_at), (
        "as recorded: it was changed after it began"
    )
    assert [(p.node, p.gpus_milli) for p in running.data.placements] == [("gn1", 2_000), ("gn2", 2_000)]
    assert (ended.data.outcome, ended.data.exit_code) == ("succeeded", 1)
    assert ended.time == datetime(2026, 11, 30, 1, 2, tzinfo=UTC)


def test_a_message_that_breaks_off_is_named_and_the_ones_before_are_kept(root):
    data = golden(root, "sonar.json")[:-60]
    found = list(read("sonar-json", data, CONFIG))
    assert [name_of(r) for r in found] == ["first_statement", "step", "gpus_not_recorded", "unreadable:truncated"]
    assert found[-1].raw == data[found[-1].place.offset :].rstrip(b"\n")


def test_a_message_without_a_time_is_refused():
    data = b'{"meta":{"producer":"sonar"},"data":{"attributes":{"slurm_jobs":[]}}}'
    assert [name_of(r) for r in read("sonar-json", data, CONFIG)] == ["unreadable:no_instant"]


# ---------------------------------------------------------------- broken answers


def test_a_truncated_answer_loses_only_the_element_that_is_cut(root):
    data = golden(root, "accounting_v0.0.42.json")
    whole = list(read("slurmdb-jobs-json", data, CONFIG))
    cut = data[: data.index(b'"job_id": 8') + 20]
    first, broken = read("slurmdb-jobs-json", cut, CONFIG)
    assert first == whole[0]
    assert isinstance(broken, Unreadable)
    assert broken.reason == "truncated"
    assert cut.endswith(broken.raw)
    assert broken.raw.startswith(b'{"account": "vision", "cluster": "c", "job_id": 8')


@pytest.mark.parametrize("length", range(1, 2_600, 17))
def test_wherever_an_answer_is_cut_nothing_is_lost(root, length):
    data = golden(root, "accounting_v0.0.38.json")[:length]
    found = list(read("slurmdb-jobs-json", data, CONFIG))
    broken = [r for r in found if isinstance(r, Unreadable)]
    assert [r.reason for r in broken] in (["truncated"], [])
    if len(data) < len(golden(root, "accounting_v0.0.38.json").rstrip()):
        assert broken, "a cut answer says so"
        assert data.endswith(broken[0].raw)


def test_a_broken_element_is_named_where_it_breaks():
    data = b'{"jobs": [{"job_id": 1, "oops": }, {"job_id": 2}]}'
    (broken,) = read("slurmdb-jobs-json", data, CONFIG)
    assert isinstance(broken, Unreadable)
    assert (broken.reason, broken.raw) == ("not_json", data[data.index(b'{"job_id": 1') :])
    assert broken.place.offset == data.index(b'{"job_id": 1')


def test_an_error_answer_says_what_slurm_said():
    data = b'{"jobs": [], "errors": [{"error": "Protocol authentication error", "error_number": 1007, "source": "x"}]}'
    (answer,) = read("slurm-jobs-json", data, CONFIG)
    assert isinstance(answer, Unreadable)
    assert answer.reason == "error_answer"
    assert "Protocol authentication error" in answer.sentence
    assert "1007" in answer.sentence
    assert detect(data) in {"slurm-jobs-json", "slurmdb-jobs-json"}


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({}, "unknown_state"),
        ({"job_state": ["RUNNING"]}, "no_job_id"),
        ({"job_state": ["WOBBLING"], "job_id": 1}, "unknown_state"),
        (7, "unknown_state"),
        ({"job_state": "RUNNING", "job_id": 1, "tres_req_str": "gres/gpu=x"}, "gpu_count_not_understood"),
        ({"job_state": "RUNNING", "job_id": 1, "nodes": "gn[1-"}, "node_list_not_understood"),
        ({"job_state": "RUNNING", "job_id": 1, "tres_req_str": "gres/gpu=1"}, "no_start_time"),
        ({"job_state": "PENDING", "job_id": 1, "tres_req_str": "gres/gpu=1"}, "no_submit_time"),
        ({"job_state": "RUNNING", "job_id": 1, "start_time": float("inf")}, "number_not_understood"),
    ],
)
def test_an_element_that_is_no_job_is_named(job, reason):
    data = json.dumps({"jobs": [job, {"job_id": 2, "job_state": "PENDING", "tres_req_str": "cpu=1"}]}).encode()
    bad, good = read("slurm-jobs-json", data, CONFIG)
    assert (name_of(bad), name_of(good)) == (f"unreadable:{reason}", "job_without_gpus")
    assert json.loads(bad.raw) == job


def test_names_in_bytes_that_are_not_utf8_stay_visible():
    job = b'{"job_id": 1, "job_state": "PENDING", "account": "caf\xe9", "submit_time": 5, "tres_req_str": "gres/gpu=1"}'
    data = b'{"jobs": [' + job + b"]}"
    (submitted,) = events("slurm-jobs-json", data)
    assert submitted.data.account == "caf\\xe9"


def message(*jobs):
    attributes = {"time": "2026-11-30T02:00:00+01:00", "cluster": "c", "slurm_jobs": jobs}
    return json.dumps({"meta": {"producer": "sonar"}, "data": {"attributes": attributes}}).encode()


def sonar_job(**given):
    return {
        "job_id": 5, "job_state": "RUNNING", "user_name": "eve", "account": "a",
        "submit_time": "2026-11-30T01:00:00+01:00", "start_time": "2026-11-30T01:00:00+01:00", "nodes": ["gn1"],
        "sacct": {"AllocTRES": "gres/gpu=2", "ElapsedRaw": 9},
    } | given  # fmt: skip


def test_sonar_names_tasks_components_and_details():
    found = list(
        read(
            "sonar-json",
            message(
                sonar_job(array_job_id=4, array_task_id=7),
                sonar_job(het_job_id=3, het_job_offset=1),
                sonar_job(job_id=6, gres_detail=["gpu:h100:2(IDX:1,3)"]),
            ),
            CONFIG,
        )
    )
    runs = [e.data for e in events_of(found)]
    assert [(r.job, r.gang) for r in runs] == [("4_7", None), ("3+1", "3"), ("6", None)]
    assert [(p.gpus_milli, p.gpu_indices) for p in runs[2].placements] == [(2_000, (1, 3))]
    assert runs[2].gpu_type == "h100"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"job_id": None}, "no_job_id"),
        ({"job_state": "WOBBLING"}, "unknown_state"),
        ({"start_time": "soon"}, "time_not_understood"),
        ({"user_name": "u" * 300}, "values_not_accepted"),
        ({"job_state": "COMPLETED"}, "ended_without_end"),
    ],
)
def test_a_job_of_a_message_that_is_wrong_is_named_and_kept(given, reason):
    bad, good = read("sonar-json", message(sonar_job(**given), sonar_job(job_id=6)), CONFIG)
    assert (name_of(bad), name_of(good)) == (f"unreadable:{reason}", "first_statement")
    assert json.loads(bad.raw) == sonar_job(**given)


def test_a_heterogeneous_component_of_the_controller():
    job = {
        "job_id": 8, "het_job_id": 7, "het_job_offset": 1, "user_id": 1001, "job_state": ["RUNNING"], "nodes": "gn1",
        "submit_time": T0, "start_time": T0, "tres_alloc_str": "gres/gpu=2", "gres_detail": ["gpu:2(IDX:0-1)", ""],
    }  # fmt: skip
    (run,) = events("slurm-jobs-json", json.dumps({"jobs": [job]}).encode())
    assert (run.data.job, run.data.gang, run.data.user) == ("7+1", "7", "1001")
    assert [(p.node, p.gpus_milli, p.gpu_indices) for p in run.data.placements] == [("gn1", 2_000, None)], (
        "details for more nodes than there are say nothing of where"
    )


def test_an_array_accounting_has_not_split_is_written_out():
    job = {
        "job_id": 6, "array": {"job_id": 6, "task": "2-3%1", "task_id": None}, "user": "eve", "account": "a",
        "nodes": "None assigned", "state": {"current": "PENDING"}, "time": {"submission": T0},
        "tres": {"allocated": [], "requested": [{"type": "gres", "name": "gpu", "count": 1}]},
    }  # fmt: skip
    assert [e.data.job for e in events("slurmdb-jobs-json", json.dumps({"jobs": [job]}).encode())] == ["6_2", "6_3"]


@pytest.mark.parametrize("data", [b"[]", b"x", b'{"jobs": []} more', b'{"a": [[[' * 9_000])
def test_what_is_no_answer_is_named(data):
    found = list(read("slurm-jobs-json", data, CONFIG))
    assert [r.reason for r in found if isinstance(r, Unreadable)][-1] in {"not_json", "truncated"}
    assert data.endswith(found[-1].raw)
