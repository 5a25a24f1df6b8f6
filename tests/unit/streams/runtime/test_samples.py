"""Which hours samples make due."""

import numpy as np
import pytest

from ledger.units import DAY_S, HOUR_S
from streams.runtime.samples import hours_of


@pytest.mark.parametrize(
    ("samples", "hours"),
    [
        ([], set()),
        ([(5 * HOUR_S, 60), (5 * HOUR_S + 3540, 60)], {5}),
        ([(5 * HOUR_S + 3541, 60)], {5, 6}),
        ([(5 * HOUR_S, 60), (7 * HOUR_S + 1800, 2 * HOUR_S)], {5, 7, 8, 9}),
        ([(0, 400 * DAY_S)], set(range(25))),
    ],
)
def test_every_hour_a_sample_speaks_for_is_due(samples: list[tuple[int, int]], hours: set[int]):
    at_s = np.array([at for at, _ in samples], np.int64)
    interval_s = np.array([interval for _, interval in samples], np.uint32)
    assert hours_of(at_s, interval_s) == {hour * HOUR_S for hour in hours}
