"""Placing: evenly over the nodes, the remainder on the first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sources.placing import spread


@pytest.mark.parametrize(
    ("nodes", "milli", "parts"),
    [
        (("a",), 4_000, [("a", 4_000)]),
        (("a", "b"), 16_000, [("a", 8_000), ("b", 8_000)]),
        (("a", "b", "c"), 8_000, [("a", 4_000), ("b", 2_000), ("c", 2_000)]),
        (("a", "b", "c"), 2_000, [("a", 2_000)]),
        (("a", "b"), 1_430, [("a", 715), ("b", 715)]),
        (("a",), 460, [("a", 460)]),
    ],
)
def test_gpus_lie_evenly(nodes, milli, parts):
    assert [(p.node, p.gpus_milli) for p in spread(nodes, milli)] == parts


@given(st.integers(1, 40), st.integers(1, 200_000))
def test_nothing_is_lost_in_spreading(count, milli):
    placed = spread(tuple(f"n{i}" for i in range(count)), milli)
    assert sum(p.gpus_milli for p in placed) == milli
    assert all(p.gpus_milli > 0 for p in placed)
    assert placed[0].gpus_milli == max(p.gpus_milli for p in placed)
