"""GPU counts: typed and untyped entries name the same GPUs; what only looks like a GPU is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sources.slurm.asked import held, or_unsaid, request
from streams.sources.slurm.gres import Gpus, GresWrong, gpus, gpus_of, mig_milli


@pytest.mark.parametrize(
    ("text", "milli", "types"),
    [
        ("billing=8,cpu=8,gres/gpu:h100=4,gres/gpu=4,mem=64G,node=1", 4_000, ("h100",)),
        ("billing=8,cpu=8,gres/gpu=4,gres/gpu:h100=4", 4_000, ("h100",)),
        ("gres/gpu=2", 2_000, ()),
        ("gres/gpu:volta=2,mem=125G,node=1", 2_000, ("volta",)),
        ("gres/gpu=6,gres/gpu:a100=2,gres/gpu:h100=4", 6_000, ("a100", "h100")),
        ("gres/gpu=6,gres/gpu:a100=2", 6_000, ("a100",)),
        ("gres/gpu:a100_80=1,gres/gpu=1", 1_000, ("a100_80",)),
        ("gpu:h100:8(IDX:0-7)", 8_000, ("h100",)),
        ("gpu:h100:0(IDX:N/A)", 0, ()),
        ("gpu:a100:4(S:0-3),nsight:no_consume:1,pfsdir:scratch:no_consume:1", 4_000, ("a100",)),
        ("gpu:h100:2,gpu:h200:4", 6_000, ("h100", "h200")),
        ("gres:gpu:h100:4", 4_000, ("h100",)),
        ("gres/gpu:h100:4", 4_000, ("h100",)),
        ("gres/gpu:4", 4_000, ()),
        ("gpu:h100", 1_000, ("h100",)),
        ("gpu", 1_000, ()),
        ("gpu=3", 3_000, ()),
        ("gpu:tesla_v100-sxm2-16gb:2", 2_000, ("tesla_v100-sxm2-16gb",)),
        ("gpu:1g.10gb:7(IDX:0-6)", 1_000, ("1g.10gb",)),
        ("gres/gpu:1g.10gb=6,gres/gpu=6", 858, ("1g.10gb",)),
        ("gres/gpu:3g.40gb=1", 429, ("3g.40gb",)),
    ],
)
def test_gpus_are_counted(text, milli, types):
    found = gpus(text)
    assert found is not None
    assert (found.milli, found.types) == (milli, types)


@pytest.mark.parametrize(
    "text",
    ["", "(null)", "N/A", "cpu=40,mem=4556M,node=1,billing=40,gres/gpfs:ess:1", "gpfs:gpu:0", "mps:0", "shard:gpu:4",
     "craynetwork:1", "gpumem=4", "gres/gpuutil=98,gres/gpumem=1G"],
)  # fmt: skip
def test_what_is_no_gpu_is_none(text):
    assert gpus(text) is None


def test_device_indices_are_read_where_they_cover_all_gpus():
    assert gpus("gpu:h100:4(IDX:0,2-3,7)") == Gpus(4_000, ("h100",), (0, 2, 3, 7))
    assert gpus("gpu:h100:4(S:0-3)") == Gpus(4_000, ("h100",), None)
    assert gpus("gpu:h100:2(IDX:0-1),gpu:h200:4(IDX:2-5)") == Gpus(6_000, ("h100", "h200"), (0, 1, 2, 3, 4, 5))


@pytest.mark.parametrize("text", ["gres/gpu=many", "gres/gpu=-1", "gres/gpu:h100=1.5"])
def test_a_count_that_is_none_is_refused(text):
    with pytest.raises(GresWrong, match="does not end in a count"):
        gpus(text)


def test_seven_slices_are_one_gpu_and_six_leave_142():
    assert [mig_milli(n) for n in range(1, 8)] == [143, 286, 429, 572, 715, 858, 1_000]
    assert mig_milli(14) == 2_000
    assert mig_milli(8) == 1_143


@given(st.integers(0, 64), st.integers(0, 64), st.booleans())
def test_typed_and_untyped_are_never_added(typed, untyped, typed_first):
    entries = [f"gres/gpu:h100={typed}", f"gres/gpu={untyped}"]
    found = gpus(",".join(entries if typed_first else entries[::-1]))
    assert found is not None
    assert found.milli == max(typed, untyped) * 1_000


def test_json_counts_follow_the_same_rule():
    assert gpus_of([("gpu", 2), ("gpu:h100", 2)]) == Gpus(2_000, ("h100",))
    assert gpus_of([("gpu", 2)]) == Gpus(2_000)
    assert gpus_of([("gpumem", 5), ("", 1)]) is None


def test_an_account_without_gpus_falls_back_to_the_request():
    """AccountingStorageTRES without gres/gpu: no TRES string ever names one."""
    asked = request("cpu=2,mem=1G,node=2", "", "gres/gpu:4", nodes=2, per_task="", tasks=1)
    assert asked == Gpus(8_000)
    assert held(or_unsaid("cpu=2,mem=1G,node=2,billing=2"), asked) is None
    assert request("cpu=2", "gres/gpu:h100:8", "", nodes=2, per_task="", tasks=1) == Gpus(8_000, ("h100",))
    assert request("cpu=2", "", "", nodes=2, per_task="cpu=1,gres/gpu=1", tasks=3) == Gpus(3_000)
    assert request("", "", "PER_NODE:gpu:8", nodes=4, per_task="", tasks=1) == Gpus(32_000)


def test_a_tres_string_of_other_things_says_none_and_an_empty_one_says_nothing():
    assert or_unsaid("cpu=1,mem=1G") == Gpus(0)
    assert or_unsaid("") is None
    assert or_unsaid("(null)") is None
