"""Recordings of real Slurms go in: every row by name, and GPU time to the second.

Rows are counted here with `bytes.count` and `json.loads`, GPU time from the raw columns.
"""
# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr,arg-type,misc,operator"

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime

import pytest

from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.reading import Tally, Unreadable, cluster_events_of, events_of, name_of
from streams.sources.registry import UnknownFormat, detect, read
from streams.sources.slurm.gres import gpus

pytestmark = pytest.mark.shared

SNAPSHOT = datetime(2026, 11, 30, 20, 30, tzinfo=UTC)
"""For the one kind of answer that is not dated and dates nothing: sinfo's groups."""

BY_LINE = """
sacct_gcm_fake-line-break.txt             header 1 step 2 first_statement 2 continuation 1
sacct_gcm_fake-line-break-expected.txt    header 1 step 2 first_statement 2
sacct_gcm_multiple-multiline.txt          header 1 step 2 first_statement 2 further_statement 2 continuation 3
sacct_gcm_multiple-multiline-expected.txt header 1 step 2 first_statement 2 further_statement 2
sacct_gcm_output.txt                      header 1 step 68
sacct_gcm_running-output.txt              header 1 step 10
sacct_gcm_output-midnight-edge-case.txt   header 1 step 880 gpus_not_recorded 306
sacct_gcm_output-with-invalid-lines.txt   header 1 unreadable:too_few_fields 1
sacct_sonar.txt                           first_statement 65 step 179 job_without_gpus 22 gpus_not_recorded 35
sacct_xdmod_phillips.log                  first_statement 2 job_without_gpus 4283
sacct_xdmod_accounting-logs.log           first_statement 1 job_without_gpus 3
sacct_xdmod_accounting-logs-with-job-arrays.log gpus_not_recorded 6
sacct_xdmod_non-ended-job-state.log       job_without_gpus 2
sacct_xdmod_unknown-job-state.log         unreadable:unknown_state 2
sacct_xdmod_utf8-multibyte-chars.log      job_without_gpus 1
squeue_non_utf8_job_name.txt              header 1 job_without_gpus 1
scontrol_jobs_gcm.txt                     partition 8
scontrol_nodes.txt                        node_without_gpus 7
scontrol_resource_sonar.txt               never_started 3
lab2205/04-sacct-all-dup.txt              prompt 1 header 1 first_statement 46 never_started 12
lab2205/04-sacct-all.txt                  prompt 1 header 1 first_statement 37 never_started 12 step 38
lab2205/04-sacct-steps.txt                prompt 1 header 1 unreadable:columns_missing 58 step 47
lab2205/01-squeue-long.txt                prompt 1 header 1 first_statement 7 never_started 5
lab2205/01-scontrol-show-node.txt         prompt 1 node 4 continuation 72 blank 4
lab2205/01-scontrol-show-job.txt          prompt 2 first_statement 2 continuation 61 blank 4
lab2205/01-scontrol-show-job-array.txt    prompt 1 first_statement 2 never_started 1 continuation 86 blank 6
lab2205/01-scontrol-show-job-het.txt      prompt 1 first_statement 2 continuation 62 blank 4
lab2205/01-scontrol-show-job-oneliner.txt prompt 1 first_statement 1
lab2411/04-sacct-all-dup.txt              prompt 1 header 1 first_statement 46 never_started 12
lab2411/04-sacct-all.txt                  prompt 1 header 1 first_statement 37 never_started 12 step 38
lab2411/04-sacct-steps.txt                prompt 1 header 1 unreadable:columns_missing 58 step 47
lab2411/04-sacct-badfield.txt             prompt 2 header 2 unreadable:columns_missing 98 step 76
lab2411/01-squeue-long.txt                prompt 1 header 1 first_statement 7 never_started 5
lab2411/01-scontrol-show-node.txt         prompt 1 node 4 continuation 64 blank 8
lab2411/01-scontrol-show-job.txt          prompt 2 first_statement 2 continuation 62 blank 4
lab2411/01-scontrol-show-job-array.txt    prompt 1 first_statement 2 never_started 1 continuation 86 blank 6
lab2411/01-scontrol-show-job-het.txt      prompt 1 first_statement 2 continuation 62 blank 4
lab2411/01-scontrol-show-job-oneliner.txt prompt 1 first_statement 1
"""

BY_ELEMENT = """
sonar_jobs_messages.json               first_statement 80 further_statement 77 step 1882 job_without_gpus 773 gpus_not_recorded 82
lab2205/01-sinfo.json                  node 4
lab2205/01-squeue.json                 first_statement 12 never_started 8
lab2205/04-sacct.json                  first_statement 46 never_started 12
lab2205/04-sacct-D.json                first_statement 46 never_started 12
lab2205/04-squeue-all.json             first_statement 37 never_started 18
lab2205/04-rest-slurm-jobs.json        first_statement 37 never_started 18
lab2205/04-rest-slurm-nodes.json       node 4
lab2205/04-rest-slurmdb-jobs.json      first_statement 37 never_started 12
lab2205/04-rest-slurmdb-jobs-start.json unreadable:error_answer 1
lab2411/01-sinfo.json                  node 3 node_again 1
lab2411/01-squeue.json                 first_statement 7 never_started 5
lab2411/01-scontrol-show-job.json      first_statement 12 never_started 8
lab2411/01-scontrol-show-node.json     node 4
lab2411/04-sacct.json                  first_statement 37 never_started 12
lab2411/04-sacct-D.json                first_statement 46 never_started 12
lab2411/04-squeue-all.json             first_statement 37 never_started 18
lab2411/04-rest-slurm-jobs.json        first_statement 37 never_started 18
lab2411/04-rest-slurm-jobs-update_time.json
lab2411/04-rest-slurm-nodes.json       node 4
lab2411/04-rest-slurmdb-jobs.json      first_statement 37 never_started 12
lab2411/04-rest-slurmdb-jobs-start.json first_statement 46 never_started 12
"""  # noqa: E501  (a table)


def table(text):
    rows = [line.split() for line in text.strip().splitlines()]
    return [(name, dict(zip(rest[::2], map(int, rest[1::2]), strict=True))) for name, *rest in rows]


def config_for(name):
    fields = "xdmod" if "xdmod" in name else "sonar" if "sacct_sonar" in name else None
    return SourceConfig(cluster="lab", fields=fields, snapshot_at=SNAPSHOT if "sinfo" in name else None)


def readings(shared, name):
    data = (shared / "data" / "slurm" / name).read_bytes()
    return data, list(read(detect(data), data, config_for(name)))


def tally_of(found):
    tally = Tally()
    for reading in found:
        tally.add(reading)
    return tally


def elements(data):
    """How many rows an answer has, counted without the code under test."""
    document = json.loads(data)
    return sum(len(document.get(key, ())) for key in ("jobs", "nodes", "sinfo")) + bool(document.get("errors"))


@pytest.mark.parametrize(("name", "expected"), table(BY_LINE))
def test_every_line_of_a_text_has_a_name(shared, name, expected):
    data, found = readings(shared, name)
    tally = tally_of(found)
    assert dict(tally.counts) == expected
    tally.check(data.count(b"\n") + (not data.endswith(b"\n")))


@pytest.mark.parametrize(("name", "expected"), table(BY_ELEMENT))
def test_every_element_of_an_answer_has_a_name(shared, name, expected):
    data, found = readings(shared, name)
    tally = tally_of(found)
    assert dict(tally.counts) == expected
    if "sonar" in name:
        messages = data.strip().split(b"\n")
        tally.check(sum(len(json.loads(m)["data"]["attributes"]["slurm_jobs"]) for m in messages))
    else:
        tally.check(elements(data))


def test_every_answer_of_every_data_parser_goes_in(shared):
    """0.0.41 to 0.0.43 of 24.05 and 25.05: jobs, nodes, single ones, errors."""
    outcomes: Counter[str] = Counter()
    files = sorted((shared / "data" / "slurm" / "slurmrestd").glob("*/*/*.json"))
    kinds = re.compile(r"slurm-(jobs?|nodes?|jwt)(-.*)?\.json|slurmdb-job(-.*)?\.json")
    wanted = [path for path in files if kinds.fullmatch(path.name)]
    assert len(wanted) > 140
    for path in wanted:
        data = path.read_bytes()
        found = list(read(detect(data), data, SourceConfig(cluster="c")))
        tally_of(found).check(elements(data))
        for reading in found:
            name = name_of(reading)
            assert not name.startswith("unreadable:") or name == "unreadable:error_answer", path
            outcomes[name] += 1
    assert set(outcomes) == {
        "first_statement",
        "never_started",
        "job_without_gpus",
        "gpus_not_recorded",
        "node",
        "node_without_gpus",
        "unreadable:error_answer",
    }


def test_other_answers_are_described_not_guessed(shared):
    for name in ("slurm-qos", "slurm-partitions", "slurm-ping", "slurm-accounts", "slurmdb-associations", "status"):
        data = (shared / "data" / "slurm" / "slurmrestd" / "25.05" / "0.0.42" / f"{name}.json").read_bytes()
        with pytest.raises(UnknownFormat, match="it is JSON about"):
            detect(data)
    with pytest.raises(UnknownFormat, match="it is empty"):
        detect((shared / "data" / "slurm" / "lab2205" / "04-rest-slurm-jobs-update_time.json").read_bytes())


# ---------------------------------------------------------------- one lab, two versions, four ways to ask


def runs_and_jobs(shared, name):
    """What a file says of each job, by attempt."""
    said: dict[str, dict[int, object]] = defaultdict(dict)
    for event in cluster_events_of(readings(shared, name)[1]):
        if event.type == "tenure.run.observed.v1":
            said[event.data.job][int(event.data.attempt)] = event
        elif event.type == "tenure.job.submitted.v1":
            said[event.data.job].setdefault(epoch_s(event.time), event)
    return said


def without_exit(event):
    """22.05's JSON drops exit codes, and sacct's text takes 128 off those over it."""
    return event.data.model_copy(update={"exit_code": None}) if hasattr(event.data, "exit_code") else event.data


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
@pytest.mark.parametrize("name", ["04-sacct-all.txt", "04-sacct.json", "04-sacct-D.json", "04-rest-slurmdb-jobs.json"])
def test_the_latest_row_of_each_job_is_the_same_out_of_text_json_and_rest(shared, lab, name):
    text = runs_and_jobs(shared, f"{lab}/04-sacct-all-dup.txt")
    other = runs_and_jobs(shared, f"{lab}/{name}")
    assert text.keys() == other.keys()
    assert len(text) == 49
    for job, attempts in text.items():
        latest = max(attempts)
        assert latest == max(other[job])
        assert attempts[latest].time == other[job][latest].time
        assert without_exit(attempts[latest]) == without_exit(other[job][latest])


@pytest.mark.parametrize(
    ("lab", "name"),
    [
        ("lab2205", "04-sacct.json"),
        ("lab2205", "04-sacct-D.json"),
        ("lab2411", "04-sacct-D.json"),
        ("lab2411", "04-rest-slurmdb-jobs-start.json"),
    ],
)
def test_duplicates_are_attempts_of_their_own_in_every_form(shared, lab, name):
    text = runs_and_jobs(shared, f"{lab}/04-sacct-all-dup.txt")
    other = runs_and_jobs(shared, f"{lab}/{name}")
    assert sum(len(attempts) for attempts in text.values()) == 58
    assert {job: set(attempts) for job, attempts in text.items()} == {job: set(a) for job, a in other.items()}
    requeued = [e for a in text.values() for e in a.values() if getattr(e.data, "outcome", None) == "requeued"]
    assert len(requeued) == 4
    for job, attempts in text.items():
        for attempt, event in attempts.items():
            assert without_exit(event) == without_exit(other[job][attempt])


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
def test_the_controller_names_attempts_as_accounting_does(shared, lab):
    accounted = runs_and_jobs(shared, f"{lab}/04-sacct-all-dup.txt")
    queued = runs_and_jobs(shared, f"{lab}/04-squeue-all.json")
    ran = {
        job for job, attempts in queued.items() if any(e.type == "tenure.run.observed.v1" for e in attempts.values())
    }
    assert ran - accounted.keys() == {"37"}, "held while it ran, and gone from sacct's windows since"
    for job in ran - {"37"}:
        for attempt, event in queued[job].items():
            if event.type == "tenure.run.observed.v1":
                same = accounted[job][attempt].data
                assert (event.data.started_at, event.data.ended_at) == (same.started_at, same.ended_at)
                assert (event.data.placements, event.data.suspended_s) == (same.placements, same.suspended_s)
                assert (event.data.account, event.data.outcome) == (same.account, same.outcome)


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
@pytest.mark.parametrize("name", ["04-sacct-all-dup.txt", "04-sacct-D.json"])
def test_unsuspended_gpu_seconds_are_elapsed_times_gpus(shared, lab, name):
    lines = (shared / "data" / "slurm" / lab / "04-sacct-all-dup.txt").read_text().splitlines()
    columns = lines[1].split("|")
    expected = {}
    for line in lines[2:]:
        row = dict(zip(columns, line.split("|"), strict=False))
        held = re.search(r"gres/gpu=(\d+)", row["AllocTRES"])
        if held:
            submit = int(datetime.fromisoformat(row["Submit"]).replace(tzinfo=UTC).timestamp())
            expected[row["JobID"], submit] = int(row["ElapsedRaw"]) * int(held[1])
    found = {
        (job, attempt): sum(p.gpus_milli for p in e.data.placements)
        * (epoch_s(e.data.ended_at) - epoch_s(e.data.started_at) - e.data.suspended_s)
        for job, attempts in runs_and_jobs(shared, f"{lab}/{name}").items()
        for attempt, e in attempts.items()
        if e.type == "tenure.run.observed.v1"
    }
    assert len(expected) == 46
    assert found == {key: seconds * 1_000 for key, seconds in expected.items()}


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
def test_the_jobs_sreport_was_held_against(shared, lab):
    """60, 15, 192 and 10 GPU-seconds, as `sreport` reports them for these four jobs."""
    _, found = readings(shared, f"{lab}/08-sreport-jobs.txt")
    seconds = sorted(
        sum(p.gpus_milli for p in e.data.placements)
        * (epoch_s(e.data.ended_at) - epoch_s(e.data.started_at) - e.data.suspended_s)
        // 1_000
        for e in events_of(found)
    )
    assert seconds == [10, 15, 60, 192]


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
def test_nodes_are_the_same_out_of_text_and_json(shared, lab):
    def said(name):
        events = events_of(readings(shared, f"{lab}/{name}")[1])
        return {(e.data.node, e.data.gpu_type, e.data.gpus_milli, e.data.state) for e in events}

    assert said("01-scontrol-show-node.txt") == said("01-sinfo.json")
    assert said("01-sinfo.json") == {(f"gn{n}", "h100", 8_000, "available") for n in (1, 2, 3, 4)}


@pytest.mark.parametrize("lab", ["lab2205", "lab2411"])
def test_gpu_indices_by_node_are_read_from_details(shared, lab):
    by_text = {e.data.job: e.data for e in events_of(readings(shared, f"{lab}/01-scontrol-show-job.txt")[1])}
    by_json = {e.data.job: e.data for e in events_of(readings(shared, f"{lab}/01-squeue.json")[1])}
    assert [(p.node, p.gpus_milli, p.gpu_indices) for p in by_text["4"].placements] == [("gn3", 4_000, (4, 5, 6, 7))]
    assert by_text["4"].placements == by_json["4"].placements
    assert by_text["5"].placements == by_json["5"].placements
    assert [p.gpu_indices for p in by_text["5"].placements] == [tuple(range(8))] * 2


def test_a_held_running_job_is_read_from_the_queue_that_still_shows_it():
    """`scontrol hold` on a running job takes its eligible time away, and with it the job from sacct's windows."""
    data = (
        b"JobID|State|Submit|Eligible|Start|End|AllocTRES|NodeList\n"
        b"1|RUNNING|2026-11-30T20:03:39|Unknown|2026-11-30T20:03:40|Unknown|gres/gpu:h100=2,gres/gpu=2|gn1\n"
    )
    (event,) = events_of(read("sacct", data, SourceConfig(cluster="lab")))
    assert (event.data.eligible_at, event.data.placements[0].gpus_milli) == (None, 2_000)


# ---------------------------------------------------------------- others' files


def test_phillips_gpu_hours(shared):
    expected = 0
    for line in (shared / "data" / "slurm" / "sacct_xdmod_phillips.log").read_text().splitlines():
        cells = line.split("|")
        held = re.search(r"gres/gpu=(\d+)", cells[22])
        if held:
            start, end = (datetime.fromisoformat(cells[at]) for at in (12, 13))
            expected += int(held[1]) * int((end - start).total_seconds())
    _, found = readings(shared, "sacct_xdmod_phillips.log")
    events = list(events_of(found))
    assert expected == 2 * (912_426 + 17)
    assert expected == sum(
        p.gpus_milli // 1_000 * (epoch_s(e.data.ended_at) - epoch_s(e.data.started_at))
        for e in events
        for p in e.data.placements
    )
    assert {e.data.cluster for e in events} == {"phillips"}
    assert events[0].data.outcome == "cancelled"


@pytest.mark.parametrize("name", ["sacct_gcm_fake-line-break", "sacct_gcm_multiple-multiline"])
def test_false_line_breaks_are_read_as_their_authors_expect(shared, name):
    data, found = readings(shared, f"{name}.txt")
    expected, expected_found = readings(shared, f"{name}-expected.txt")
    assert list(events_of(found)) == list(events_of(expected_found))
    starts = [r.place.offset for r in found if name_of(r) not in {"continuation", "header"}]
    ends = [*starts[1:], len(data)]
    joined = [data[a:b].rstrip(b"\n").replace(b"\n", b"\\n") for a, b in zip(starts, ends, strict=True)]
    assert joined == expected.rstrip(b"\n").split(b"\n")[1:]


def test_tres_strings_count_as_xdmod_counts_them(shared):
    for text, count in json.loads((shared / "data" / "slurm" / "tres_gpu_count.json").read_text()):
        found = gpus(text)
        assert (0 if found is None else found.milli) == count * 1_000


def test_gres_traps_count_only_gpus(shared):
    lines = (shared / "data" / "slurm" / "sinfo_gres_traps.txt").read_text().splitlines()
    checked = 0
    for line in lines:
        for column in line.split()[1:3]:
            named = re.search(r"(?:^|,)gpu:a100:(\d+)", column)
            found = gpus(column)
            assert (found.milli if found else None) == (int(named[1]) * 1_000 if named else None)
            checked += named is not None
    assert checked > 4_000


def test_a_name_in_bytes_that_are_not_utf8_stops_nothing(shared):
    data = (shared / "data" / "slurm" / "squeue_non_utf8_job_name.txt").read_bytes()
    spoiled = data.replace("�".encode(), b"\xff\xfe").replace(b"gres/gpfs:ess:1^_", b"gres/gpfs:ess:1^_")
    assert b"\xff\xfe" in spoiled
    assert [name_of(r) for r in read("sacct", spoiled, SourceConfig(cluster="c"))] == ["header", "job_without_gpus"]


def test_sonar_messages(shared):
    """Two messages three minutes apart; a submission later than its start stays as recorded."""
    data, found = readings(shared, "sonar_jobs_messages.json")
    raw = [json.loads(m)["data"]["attributes"] for m in data.strip().split(b"\n")]
    expected = {
        (str(job["job_id"]), datetime.fromisoformat(job["start_time"]))
        for message in raw
        for job in message["slurm_jobs"]
        if "job_step" not in job and "gres/gpu" in job.get("sacct", {}).get("AllocTRES", "")
    }
    runs = [e for e in events_of(found) if e.type == "tenure.run.observed.v1"]
    assert {(e.data.job, e.data.started_at) for e in runs} == expected
    odd = [e for e in runs if e.data.submitted_at > e.data.started_at]
    assert {e.data.job for e in odd} == {"1621683"}
    assert {e.time for e in odd} == {datetime.fromisoformat(message["time"]) for message in raw}


def test_states_that_are_none_are_dead_letters_with_their_row(shared):
    data, found = readings(shared, "sacct_xdmod_unknown-job-state.log")
    assert all(isinstance(r, Unreadable) for r in found)
    assert b"\n".join(r.raw for r in found) == data.strip(b"\n")


@pytest.mark.parametrize("name", ["lab2411/04-sacct-D.json", "lab2205/04-squeue-all.json", "lab2411/04-sacct-all.txt"])
@pytest.mark.parametrize("part", [0.11, 0.37, 0.5, 0.83, 0.99])
def test_a_real_file_cut_anywhere_loses_nothing(shared, name, part):
    data = (shared / "data" / "slurm" / name).read_bytes()
    cut = data[: int(len(data) * part)]
    kind = detect(data)
    whole = list(read(kind, data, SourceConfig(cluster="lab", snapshot_at=SNAPSHOT)))
    found = list(read(kind, cut, SourceConfig(cluster="lab", snapshot_at=SNAPSHOT)))
    assert isinstance(found[-1], Unreadable)
    assert found[-1].reason == "truncated"
    assert cut.endswith(found[-1].raw)
    assert found[:-1] == whole[: len(found) - 1]
