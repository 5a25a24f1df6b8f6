"""Pauses out of what polls saw."""

from __future__ import annotations

import pytest

from streams.sources.slurm.live.cursor import Pauses
from streams.sources.slurm.live.pauses import follow, settle, total_s, turns


@pytest.mark.parametrize(
    ("told", "suspended", "changed", "ran", "after"),
    [
        ((), False, None, 0, ()),
        ((), True, 20, 20, ((20, None),)),
        (((20, None),), True, 20, 20, ((20, None),)),
        (((20, None),), False, 30, 20, ((20, 30),)),
        ((), False, 30, 20, ((20, 30),)),  # suspended and resumed between two polls
        (((20, None),), True, 50, 40, ((20, 30), (50, None))),  # resumed and suspended again
        (((20, 30),), True, 50, 40, ((20, 30), (50, None))),
        (((20, 30),), False, 60, 40, ((20, 30), (50, 60))),
        ((), True, 50, 40, ((40, None),)),  # an earlier pause nobody saw stands before this one
        (((20, None),), False, 20, 20, ((20, 20),)),  # resumed within the second
        ((), False, 0, 0, ()),  # of an attempt before this one
    ],
)
def test_the_controllers_sum_places_what_no_poll_saw(
    told: Pauses, suspended: bool, changed: int | None, ran: int, after: Pauses
) -> None:
    assert follow(told, 0, suspended=suspended, changed_s=changed, ran_s=ran) == after


@pytest.mark.parametrize(
    ("told", "total", "settled"),
    [
        ((), 0, ()),
        ((), 10, ((90, 100),)),
        (((20, 30),), 10, ((20, 30),)),
        (((20, 30),), 15, ((20, 30), (95, 100))),
        (((20, None),), 10, ((20, 30),)),  # it was resumed, and no poll saw it
        (((20, None),), 0, ()),
        (((20, 30), (40, 60)), 15, ((20, 30), (40, 45))),
        (((20, 30), (40, 100)), 90, ((10, 100),)),  # no room behind the last one
    ],
)
def test_a_run_that_is_over_has_the_sum_accounting_tells(told: Pauses, total: int, settled: Pauses) -> None:
    assert settle(told, 0, 100, total) == settled
    assert total_s(settled, 100) == total


def test_turns_of_one_second_keep_their_order() -> None:
    assert list(turns((), ((5, 5), (5, None)))) == [(5, 0, True), (5, 1, False), (5, 2, True)]
    assert list(turns(((5, None),), ((5, 9),))) == [(9, 0, False)]
    assert list(turns(((5, 9),), ((5, 9),))) == []
