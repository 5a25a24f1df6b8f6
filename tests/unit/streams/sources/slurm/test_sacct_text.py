"""sacct text to readings: each kind of row has its name, each run its times, GPUs, attempt and outcome."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr,arg-type"

import pytest

from ledger.events.jobs import JobEnded, JobSubmitted, RunObserved
from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.reading import Known, Skipped, Statement, Tally, Unreadable, events_of, name_of
from streams.sources.registry import read

CONFIG = SourceConfig(cluster="c")
HEAD = (
    "JobID|User|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|"
    "ElapsedRaw|Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw"
)
T0 = 1_796_000_000
"""2026-11-30T00:53:20Z"""


def row(job="1", state="COMPLETED", **given):
    cells = {
        "JobID": job, "User": "eve", "Account": "vision", "Partition": "gpu", "QOS": "normal", "State": state,
        "ExitCode": "0:0", "Submit": str(T0), "Eligible": str(T0), "Start": str(T0 + 60), "End": str(T0 + 3_660),
        "ElapsedRaw": "3600", "Suspended": "00:00:00", "NNodes": "1", "NodeList": "gn1",
        "AllocTRES": "cpu=8,gres/gpu:h100=4,gres/gpu=4,node=1", "ReqTRES": "cpu=8,gres/gpu=4,node=1",
        "TimelimitRaw": "120",
    } | given  # fmt: skip
    return "|".join(cells[name] for name in HEAD.split("|"))


def readings(*rows, head=HEAD, config=CONFIG):
    data = "".join(f"{line}\n" for line in (head, *rows)).encode("utf-8", "surrogateescape")
    found = list(read("sacct", data, config))
    tally = Tally()
    for reading in found:
        tally.add(reading)
    tally.check(data.count(b"\n"))
    return found[1:]


def run_of(*rows, config=CONFIG):
    (reading,) = readings(*rows, config=config)
    assert isinstance(reading, Statement), reading
    (event,) = reading.events
    assert isinstance(event, RunObserved)
    return event


def test_a_run_is_stated_whole():
    event = run_of(row("12", QOS="protected", NodeList="gn[1-2]", NNodes="2", ExitCode="3:0", State="FAILED"))
    data = event.data
    assert event.source == "slurm/c"
    assert epoch_s(event.time) == T0 + 3_660
    assert (data.cluster, data.job, data.attempt, data.user, data.account) == ("c", "12", str(T0), "eve", "vision")
    assert [epoch_s(t) for t in (data.submitted_at, data.eligible_at, data.started_at, data.ended_at)] == [
        T0,
        T0,
        T0 + 60,
        T0 + 3_660,
    ]
    assert [(p.node, p.gpus_milli, p.gpu_indices) for p in data.placements] == [
        ("gn1", 2_000, None),
        ("gn2", 2_000, None),
    ]
    assert (data.gpu_type, data.time_limit_s, data.outcome, data.exit_code) == ("h100", 7_200, "failed", 3)
    assert data.suspended_s == 0
    assert data.gang is None


@pytest.mark.parametrize(
    ("state", "given", "outcome"),
    [
        ("COMPLETED", {}, "succeeded"),
        ("CANCELLED by 1000", {}, "cancelled"),
        ("FAILED", {}, "failed"),
        ("TIMEOUT", {}, "timeout"),
        ("DEADLINE", {}, "timeout"),
        ("NODE_FAIL", {}, "node_failure"),
        ("BOOT_FAIL", {}, "node_failure"),
        ("PREEMPTED", {}, "preempted"),
        ("OUT_OF_MEMORY", {}, "out_of_memory"),
        ("REQUEUED", {}, "requeued"),
        ("RUNNING", {"End": "Unknown"}, None),
        ("COMPLETING", {"End": "Unknown"}, None),
        ("RESIZING", {"End": "Unknown"}, None),
    ],
)
def test_outcomes(state, given, outcome):
    data = run_of(row(State=state, **given)).data
    assert data.outcome == outcome
    assert (data.ended_at is None) == (outcome is None)


def test_a_signal_counts_128_and_its_number():
    assert run_of(row(state="FAILED", ExitCode="0:9")).data.exit_code == 137


def test_a_running_job_is_seen_at_the_last_instant_the_file_knows():
    running = row("1", "RUNNING", End="Unknown", ElapsedRaw="5000")
    later = row("2", Submit=str(T0 + 9_000), Start=str(T0 + 9_001), End=str(T0 + 9_010), ElapsedRaw="9")
    first, _ = events_of(readings(running, later))
    assert epoch_s(first.time) == T0 + 9_010
    (only,) = events_of(readings(running))
    assert epoch_s(only.time) == T0 + 60 + 5_000
    (stated,) = events_of(readings(running, config=CONFIG.model_copy(update={"snapshot_at": later_instant()})))
    assert stated.time == later_instant()


def later_instant():
    from ledger.units import instant

    return instant(T0 + 20_000)


def test_suspended_time_is_what_elapsed_leaves_out():
    data = run_of(row(ElapsedRaw="3000", Suspended="00:10:00")).data
    assert data.suspended_s == 600
    assert data.suspensions is None


def test_suspended_time_is_known_without_its_column():
    head = HEAD.replace("|Suspended", "")
    (reading,) = readings(row(ElapsedRaw="3000").replace("|00:00:00|", "|"), head=head)
    assert reading.events[0].data.suspended_s == 600


def test_a_suspended_job_stopped_when_it_had_run_its_elapsed_time():
    data = run_of(row(state="SUSPENDED", End="Unknown", ElapsedRaw="100", Suspended="00:00:40")).data
    assert data.ended_at is None
    assert [(epoch_s(s.since), s.until, s.releases_gpus) for s in data.suspensions] == [(T0 + 160, None, False)]


@pytest.mark.parametrize(
    ("state", "given", "events"),
    [
        ("PENDING", {"Start": "Unknown", "End": "Unknown"}, ["job.submitted"]),
        ("CANCELLED by 0", {"Start": "None"}, ["job.submitted", "job.ended"]),
        ("CANCELLED by 0", {"Start": str(T0 + 3_660), "ElapsedRaw": "0"}, ["job.submitted", "job.ended"]),
        ("FAILED", {"Start": str(T0 + 3_660), "ElapsedRaw": "0"}, ["job.submitted", "job.ended"]),
        ("REQUEUED", {"Start": "Unknown", "End": "Unknown", "ElapsedRaw": "0"}, ["job.submitted"]),
    ],
)
def test_a_job_that_never_started_waited_and_perhaps_left(state, given, events):
    """Old Slurm writes Start = End for what was cancelled in the queue; without nodes it did not start."""
    (reading,) = readings(row(state=state, NodeList="None assigned", NNodes="4", AllocTRES="", **given))
    assert name_of(reading) == "never_started"
    assert [e.type.removeprefix("tenure.").removesuffix(".v1") for e in reading.events] == events
    submitted = reading.events[0]
    assert isinstance(submitted, JobSubmitted)
    assert epoch_s(submitted.time) == T0
    assert (submitted.data.gpus_milli, submitted.data.shape.nodes, submitted.data.shape.gpus_per_node_milli) == (
        4_000,
        4,
        1_000,
    )
    if len(events) == 2:
        ended = reading.events[1]
        assert isinstance(ended, JobEnded)
        assert ended.data.attempt is None
        assert epoch_s(ended.time) == T0 + 3_660


def test_a_requeue_is_another_attempt_of_the_same_job():
    first = row("7", "REQUEUED")
    second = row("7", Submit=str(T0 + 3_660), Start=str(T0 + 3_700), End=str(T0 + 3_800), ElapsedRaw="100")
    found = readings(first, second)
    assert [name_of(r) for r in found] == ["first_statement", "first_statement"]
    assert [(e.data.job, e.data.attempt, e.data.outcome) for e in events_of(found)] == [
        ("7", str(T0), "requeued"),
        ("7", str(T0 + 3_660), "succeeded"),
    ]


def test_a_job_id_used_again_years_later_is_a_run_of_its_own():
    old = row("7", Submit="1400000000", Start="1400000010", End="1400000020", ElapsedRaw="10")
    found = readings(old, row("7"))
    assert [name_of(r) for r in found] == ["first_statement", "first_statement"]
    assert all(epoch_s(e.data.ended_at) >= epoch_s(e.data.started_at) for e in events_of(found))


def test_a_run_stated_twice_is_known_and_keeps_its_events():
    found = readings(row("7", "RUNNING", End="Unknown"), row("7"), row("7"))
    assert [name_of(r) for r in found] == ["first_statement", "further_statement", "further_statement"]
    assert isinstance(found[1], Known)
    ids = [e.id for e in events_of(found)]
    assert ids[1] == ids[2] != ids[0]


def test_a_job_that_waited_and_then_ran_is_a_first_statement_of_a_run():
    waiting = row("7", "PENDING", Start="Unknown", End="Unknown", NodeList="None assigned", AllocTRES="")
    assert [name_of(r) for r in readings(waiting, waiting, row("7"))] == [
        "never_started",
        "further_statement",
        "first_statement",
    ]


def test_heterogeneous_components_are_one_gang():
    found = readings(row("7+0"), row("7+1"))
    assert [(e.data.job, e.data.gang) for e in events_of(found)] == [("7+0", "7"), ("7+1", "7")]


def test_array_tasks_have_their_own_keys_and_waiting_ones_are_written_out():
    waiting = row("6_[2-4%2]", "PENDING", Start="Unknown", End="Unknown", NodeList="", AllocTRES="")
    found = readings(row("6_1"), waiting)
    assert [e.data.job for e in events_of(found)] == ["6_1", "6_2", "6_3", "6_4"]


def test_rows_that_say_nothing_of_gpu_time_have_names():
    cpu = row(AllocTRES="cpu=8,mem=1G,node=1", ReqTRES="cpu=8,mem=1G,node=1")
    found = readings(
        row("1.batch"),
        cpu,
        "",
        row(AllocTRES="", ReqTRES=""),
        "$ sacct -P",
        HEAD,
        row(state="REVOKED", Start="Unknown", End="Unknown", NodeList="", AllocTRES=""),
    )
    assert [name_of(r) for r in found] == [
        "step",
        "job_without_gpus",
        "blank",
        "gpus_not_recorded",
        "prompt",
        "header",
        "ran_elsewhere",
    ]


def test_what_is_held_while_the_account_is_empty_is_what_was_asked_for():
    """A suspended job was once seen with an empty AllocTRES."""
    assert run_of(row(AllocTRES="")).data.placements[0].gpus_milli == 4_000


# ---------------------------------------------------------------- layouts


def test_fields_may_come_in_any_order_under_any_delimiter():
    names = HEAD.split("|")
    cells = row("9").split("|")
    head, line = "|#".join(names[::-1]), "|#".join(cells[::-1])
    (reading,) = readings(line, head=head)
    assert reading.events[0].data == run_of(row("9")).data


def test_a_trailing_delimiter_makes_no_field():
    (reading,) = readings(row("9") + "|", head=HEAD + "|")
    assert reading.events[0].data == run_of(row("9")).data


def test_fields_may_be_declared_instead_of_named_by_a_header():
    config = SourceConfig(cluster="c", fields=tuple(HEAD.split("|")))
    (reading,) = read("sacct", row("9").encode(), config)
    assert reading.events[0].data == run_of(row("9")).data


def test_a_second_header_changes_the_layout():
    short = "JobID|State|Submit|Start|End|AllocTRES|NodeList"
    found = readings(row("1"), short, f"2|COMPLETED|{T0}|{T0}|{T0 + 1}|gres/gpu=1|gn1")
    assert [name_of(r) for r in found] == ["first_statement", "header", "first_statement"]


def test_the_cluster_is_from_the_row_where_it_has_one():
    (reading,) = readings(row("1") + "|other", head=HEAD + "|Cluster")
    assert reading.events[0].data.cluster == "other"


def test_the_attempt_is_the_sluid_only_if_asked_for():
    head, line = HEAD + "|SLUID", row("1") + "|sA1B2"
    (by_submit,) = readings(line, head=head)
    (by_sluid,) = readings(line, head=head, config=SourceConfig(cluster="c", attempt="sluid"))
    assert (by_submit.events[0].data.attempt, by_sluid.events[0].data.attempt) == (str(T0), "sA1B2")


def test_times_without_zone_are_in_the_zone_of_the_source():
    local = {"Submit": "2026-07-01T12:00:00", "Start": "2026-07-01T12:00:00", "End": "2026-07-01T13:00:00"}
    event = run_of(row(**local), config=SourceConfig(cluster="c", timezone="Europe/Oslo"))
    assert epoch_s(event.data.started_at) == 1_782_900_000


def test_an_end_in_the_hour_that_comes_twice_is_put_right_by_elapsed():
    """Oslo, 25 October 2026: clocks go from 03:00 back to 02:00."""
    local = {"Submit": "2026-10-25T02:40:00", "Start": "2026-10-25T02:40:00", "End": "2026-10-25T02:10:00"}
    event = run_of(row(ElapsedRaw="1800", **local), config=SourceConfig(cluster="c", timezone="Europe/Oslo"))
    assert epoch_s(event.data.ended_at) - epoch_s(event.data.started_at) == 1_800
    assert event.data.suspended_s == 0


# ---------------------------------------------------------------- text over several lines


def test_a_field_over_several_lines_is_one_record():
    head = "JobID|Comment|State|Submit|Start|End|AllocTRES|NodeList"
    record = f"7|first\n\nthird|COMPLETED|{T0}|{T0}|{T0 + 5}|gres/gpu=1|gn1"
    data = f"{head}\n{record}\n".encode()
    found = list(read("sacct", data, CONFIG))
    assert [name_of(r) for r in found] == ["header", "first_statement", "continuation", "continuation"]
    assert found[1].place.line == 2
    assert len(found) == data.count(b"\n")


def test_a_delimiter_in_the_only_free_text_does_no_harm():
    head = "JobID|JobName|State|Submit|Start|End|AllocTRES|NodeList"
    line = f"7|a|b||c|COMPLETED|{T0}|{T0}|{T0 + 5}|gres/gpu=1|gn1"
    (reading,) = readings(line, head=head)
    assert name_of(reading) == "first_statement"


def test_a_delimiter_in_the_last_of_several_free_texts_does_no_harm():
    head = "JobID|JobName|State|Submit|Start|End|AllocTRES|NodeList|SubmitLine"
    line = f"7|a|COMPLETED|{T0}|{T0}|{T0 + 5}|gres/gpu=1|gn1|sbatch --wrap a | b"
    (reading,) = readings(line, head=head)
    assert name_of(reading) == "first_statement"


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("line", "reason", "says"),
    [
        (row(state="FOO"), "unknown_state", "FOO"),
        (row("x"), "no_job_id", "'x'"),
        (row(Start="Unknown", state="RUNNING"), "no_start_time", "Start"),
        (row(End="Unknown"), "ended_without_end", "accounting had not caught up"),
        (row(Start=str(T0 + 9_000), ElapsedRaw=""), "end_before_start", "5340 s before"),
        (row(Submit="yesterday"), "time_not_understood", "SLURM_TIME_FORMAT"),
        (row(AllocTRES="gres/gpu=lots"), "gpu_count_not_understood", "gres/gpu=lots"),
        (row(NodeList="gn[1-"), "node_list_not_understood", "cut short"),
        (row(User="u" * 300), "values_not_accepted", "user"),
        (row() + "|extra", "too_many_fields", "--delimiter"),
        ("1|eve|vision", "too_few_fields", "3 fields"),
    ],
)
def test_a_bad_row_is_named_and_kept(line, reason, says):
    before, bad, after = readings(row("1"), line, row("2"))
    assert isinstance(bad, Unreadable)
    assert bad.reason == reason
    assert says in bad.sentence
    assert bad.raw == line.encode()
    assert bad.place.line == 3
    assert [name_of(before), name_of(after)] == ["first_statement", "first_statement"]


def test_lines_without_a_header_say_how_to_name_the_columns():
    found = list(read("sacct", row().encode() + b"\n", CONFIG))
    assert [(r.reason, "xdmod" in r.sentence) for r in found if isinstance(r, Unreadable)] == [("no_header", True)]


def test_a_file_without_the_needed_columns_says_which():
    (bad,) = readings("7|COMPLETED", head="JobID|State")
    assert isinstance(bad, Unreadable)
    assert (bad.reason, "Submit or Start" in bad.sentence) == ("columns_missing", True)


def test_bytes_that_are_not_utf8_stay_visible_and_stop_nothing():
    (reading,) = readings(
        row(Account="caf\udce9").encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    )
    assert reading.events[0].data.account == "caf\\xe9"


def test_a_file_cut_in_the_middle_of_a_record_loses_only_that_one():
    data = f"{HEAD}\n{row('1')}\n{row('2')}\n".encode()[:-40]
    found = list(read("sacct", data, CONFIG))
    assert [name_of(r) for r in found] == ["header", "first_statement", "unreadable:truncated"]
    assert isinstance(found[2], Unreadable)
    assert found[2].raw == data[found[2].place.offset :]


@pytest.mark.parametrize("cut", range(0, 700, 7))
def test_wherever_a_file_is_cut_every_line_has_one_reading(cut):
    data = f"{HEAD}\n{row('1')}\n\n{row('2.batch')}\n{row('3')}\n".encode()[: 700 - cut]
    found = list(read("sacct", data, CONFIG))
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    assert len(found) == max(1, lines)
    assert sum(isinstance(r, Unreadable) for r in found) <= 1


def test_one_record_that_never_closes_does_not_swallow_the_rest():
    broken = "5|eve|vision|gpu"
    found = readings(broken, *(row(str(n)) for n in range(10, 20)))
    assert [name_of(r) for r in found] == ["unreadable:too_few_fields", *["first_statement"] * 10]


def test_skipped_rows_know_their_place():
    (reading,) = readings(row("1.batch"))
    assert isinstance(reading, Skipped)
    assert (reading.place.line, reading.place.offset) == (2, len(HEAD) + 1)
