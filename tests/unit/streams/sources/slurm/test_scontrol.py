"""`scontrol show job`: the same job as the controller's JSON, and no field out of what a user may write."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

from datetime import UTC, datetime

import pytest

from ledger.units import epoch_s
from streams.sources.config import SourceConfig
from streams.sources.reading import events_of, name_of
from streams.sources.registry import read

T0 = 1_796_000_000
CONFIG = SourceConfig(cluster="c", snapshot_at=datetime.fromtimestamp(T0 + 500, tz=UTC))


@pytest.fixture
def jobs(root):
    return (root / "tests" / "golden" / "slurm" / "scontrol_jobs.txt").read_bytes()


def test_every_line_has_a_reading(jobs):
    found = list(read("scontrol-job", b"$ scontrol -d show job\n" + jobs + b"stray\n", CONFIG))
    names = [name_of(r) for r in found]
    assert len(found) == jobs.count(b"\n") + 2
    assert names[0] == "prompt"
    assert names[-1] == "unreadable:not_a_record"
    assert [n for n in names if n not in {"continuation", "blank"}] == [
        "prompt",
        "first_statement",
        "never_started",
        "unreadable:not_a_record",
    ]


def test_a_job_is_the_one_the_controllers_json_shows(root, jobs):
    run, waiting = events_of(read("scontrol-job", jobs, CONFIG))
    answer = (root / "tests" / "golden" / "slurm" / "controller_v0.0.42.json").read_bytes()
    same = next(events_of(read("slurm-jobs-json", answer, CONFIG)))
    assert run == same
    assert (waiting.data.job, waiting.data.gang, waiting.data.user) == ("7+1", "7", "bob")
    assert (waiting.data.gpus_milli, waiting.data.shape.gpus_per_node_milli) == (8_000, 4_000)
    assert (waiting.data.held, waiting.data.time_limit_s, waiting.data.eligible_from) == (True, None, None)


def test_what_a_user_writes_into_name_command_or_comment_is_no_field(jobs):
    run, _ = events_of(read("scontrol-job", jobs, CONFIG))
    assert (run.data.user, run.data.account) == ("eve", "vision")
    assert run.data.suspensions is not None, "JobState=RUNNING in the comment is not its state"


def test_one_record_per_line(jobs):
    one = b" ".join(line.strip() for line in jobs.split(b"\n\n")[1].splitlines()) + b"\n"
    (waiting,) = events_of(read("scontrol-job", one, CONFIG))
    assert (waiting.data.job, waiting.data.account, epoch_s(waiting.time)) == ("7+1", "nlp", T0)


def test_a_name_in_one_line_is_no_field_either(jobs):
    block = jobs.split(b"\n\n")[0]
    one = b" ".join(
        line.strip() for line in block.splitlines() if not line.strip().startswith((b"Comment", b"Command"))
    )
    spoofed = one.replace(b"UserId=root(0)", b"UserId=root(0) GroupId=root(0) Account=rich")
    (run,) = events_of(read("scontrol-job", spoofed + b"\n", CONFIG))
    assert (run.data.user, run.data.account) == ("eve", "vision")


def test_a_record_cut_before_its_state_is_named(jobs):
    cut = jobs[: jobs.index(b"JobState")]
    names = [name_of(r) for r in read("scontrol-job", cut, CONFIG)]
    assert names == ["unreadable:truncated", "continuation", "continuation", "blank"]


def test_partitions_are_known_and_nodes_among_jobs_are_a_mistake(jobs):
    names = [
        name_of(r) for r in read("scontrol-job", b"PartitionName=gpu Nodes=gn1\nNodeName=gn1 State=IDLE\n", CONFIG)
    ]
    assert names == ["partition", "unreadable:record_of_another_kind"]
