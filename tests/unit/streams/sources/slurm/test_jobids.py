"""Job ids: one key per task, one gang per heterogeneous job."""

import pytest

from streams.sources.slurm.jobids import job_id


@pytest.mark.parametrize(
    ("text", "keys", "gang", "step"),
    [
        ("12", ("12",), None, None),
        ("12_3", ("12_3",), None, None),
        ("12+1", ("12+1",), "12", None),
        ("12.batch", ("12",), None, "batch"),
        ("12.0", ("12",), None, "0"),
        ("12_3.extern", ("12_3",), None, "extern"),
        ("12+0.batch", ("12+0",), "12", "batch"),
        ("6_[2-5%2]", ("6_2", "6_3", "6_4", "6_5"), None, None),
        ("6_[1,5]", ("6_1", "6_5"), None, None),
        ("6_[0-8:4]", ("6_0", "6_4", "6_8"), None, None),
        ("6_[1-3,10-11%4]", ("6_1", "6_2", "6_3", "6_10", "6_11"), None, None),
        ("6_[1,3,...]", ("6_[1,3,...]",), None, None),
    ],
)
def test_an_id_names_its_jobs(text, keys, gang, step):
    found = job_id(text)
    assert found is not None
    assert (found.keys, found.gang, found.step) == (keys, gang, step)


@pytest.mark.parametrize("text", ["", "abc", "12_", "12_x", "-3", "lab", "12+"])
def test_what_is_no_id_is_none(text):
    assert job_id(text) is None
