"""The door to all formats: what bytes are recognised as, and what is said when they are not."""

# The attribute itself is the check that the reading or event is of the right kind.
# mypy: disable-error-code="union-attr"

import gzip
from pathlib import Path

import pytest

from streams.sources.config import ConfigError, SourceConfig
from streams.sources.detect import ALIASES, FORMATS
from streams.sources.files.mapping import shipped
from streams.sources.load import load
from streams.sources.reading import Unreadable, events_of, name_of
from streams.sources.registry import UnknownFormat, detect, named, read

SACCT = b"JobID|State|Submit|Start|End|AllocTRES|NodeList\n7|COMPLETED|5|6|7|gres/gpu=1|gn1\n"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (SACCT, "sacct"),
        (b"$ sacct -P\n" + SACCT, "sacct"),
        (SACCT.replace(b"|", b"|#"), "sacct"),
        (SACCT.replace(b"|", b"\x1f"), "sacct"),
        (b"|".join([b"1"] * 26), "sacct"),
        (b'{"jobs": [{"job_id": 1, "job_state": ["RUNNING"]}]}', "slurm-jobs-json"),
        (b'{"jobs": [{"job_id": 1, "state": {"current": "RUNNING"}}]}', "slurmdb-jobs-json"),
        (b'{"nodes": [{"name": "gn1"}]}', "slurm-nodes-json"),
        (b'{"sinfo": [{"node": {}}]}', "slurm-nodes-json"),
        (b"NodeName=gn1 State=IDLE\n", "scontrol-node"),
        (b"$ scontrol show job\nJobId=1 JobName=x\n", "scontrol-job"),
        (b'{"meta":{"producer":"sonar"},"data":{"attributes":{"slurm_jobs":[]}}}', "sonar-json"),
        (b"timestamp,duration,num_gpus\n2017-10-09 07:01:55,66.0,1\n", "csv"),
        (b'{"specversion":"1.0","type":"tenure.node.removed.v1"}\n', "events"),
        (b'[\n{"type": "tenure.node.removed.v1"}]', "events"),
    ],
)
def test_a_format_is_recognised_plain_and_gzipped(data, kind):
    assert detect(data) == kind
    assert detect(gzip.compress(data)) == kind


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it is empty"),
        (b"$ sacct -P\n", "it is empty but for a command line"),
        (b"Authentication failure", "it begins with 'Authentication failure'"),
        (b'{"pings": [{"hostname": "x"}]}', "it is JSON about pings, hostname"),
        (b"### scancel: a job (sleep.sh, qos=unprotected)\nanother line\n", "it begins with '### scancel"),
        (b"a,b,c\njust prose\n", "it begins with 'a,b,c'"),
    ],
)
def test_what_is_not_recognised_is_described_with_the_formats_there_are(data, says):
    with pytest.raises(UnknownFormat) as raised:
        detect(data)
    assert says in str(raised.value)
    assert "slurmdb-jobs-json" in str(raised.value)


def test_every_format_has_its_own_name_and_aliases_lead_to_formats():
    assert all(named(name) == name for name in FORMATS)
    assert set(ALIASES.values()) == set(FORMATS)
    with pytest.raises(UnknownFormat, match="there is no format 'pbs'"):
        named("pbs")


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_at_all_is_a_named_outcome(kind):
    (found,) = read(kind, b" \n", SourceConfig(cluster="c"))
    assert isinstance(found, Unreadable)
    assert (found.reason, "304" in found.sentence) == ("empty_file", True)


def test_a_format_without_its_configuration_says_what_it_needs():
    with pytest.raises(ConfigError, match="a CSV needs a mapping"):
        list(read("csv", b"a,b\n", SourceConfig(cluster="c")))
    with pytest.raises(ConfigError, match="needs a Slurm source"):
        list(read("sacct", SACCT, shipped("philly")))


# ---------------------------------------------------------------- files and archives


def test_an_unreadable_file_is_a_dead_letter_with_its_path(tmp_path):
    found = load(tmp_path / "absent.txt")
    assert isinstance(found, Unreadable)
    assert (found.reason, "No such file" in found.sentence) == ("unreadable_file", True)
    assert found.raw == str(tmp_path / "absent.txt").encode()
    assert load(tmp_path).reason == "unreadable_file", "a directory is no file either"


def test_a_readable_file_is_its_bytes(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"a\xff\r\n")
    assert load(path) == b"a\xff\r\n"


def test_a_gzipped_file_is_read_through():
    config = SourceConfig(cluster="c")
    assert list(read("sacct", gzip.compress(SACCT), config)) == list(read("sacct", SACCT, config))
    twice = gzip.compress(SACCT[:30]) + gzip.compress(SACCT[30:])
    assert list(read("sacct", twice, config)) == list(read("sacct", SACCT, config))


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_truncated_archive_gives_what_it_holds_and_says_so(kept):
    rows = b"".join(b"%d|COMPLETED|5|6|%d|gres/gpu=1|gn1\n" % (n, n * n % 977 + 7) for n in range(2_000))
    packed = gzip.compress(SACCT + rows)
    found = list(read("sacct", packed[: int(len(packed) * kept)], SourceConfig(cluster="c")))
    assert name_of(found[-1]) == "unreadable:truncated_gzip"
    assert sum(name_of(r) == "first_statement" for r in found) > 2_000 * kept / 2
    assert all(
        name_of(r) in {"header", "first_statement", "further_statement", "unreadable:truncated"} for r in found[:-1]
    )
    assert {e.data.placements[0].node for e in events_of(found)} == {"gn1"}, "no name is short"


def test_a_last_row_without_a_line_ending_is_read_with_a_note():
    config = SourceConfig(cluster="c")
    *_, ended = read("sacct", SACCT, config)
    *_, unended = read("sacct", SACCT.rstrip(b"\n"), config)
    assert (ended.events, ended.note) == (unended.events, "")
    assert "no line ending" in unended.note


def test_a_damaged_archive_gives_what_it_holds_and_says_so():
    packed = bytearray(gzip.compress(SACCT))
    packed[-6] ^= 0xFF
    *_, last = read("sacct", bytes(packed), SourceConfig(cluster="c"))
    assert name_of(last) == "unreadable:damaged_gzip"
