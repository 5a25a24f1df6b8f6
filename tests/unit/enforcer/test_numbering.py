"""Numbers that put a queue into order: by few changes, inside their own range, and once is enough."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbering import CEILING, FLOOR, changes, is_ours

slurms = st.integers(1, 200_000) | st.integers(CEILING, 2**32 - 1)
ours = st.integers(FLOOR + 1, CEILING - 1) | st.integers(FLOOR + 1, FLOOR + 9) | st.integers(CEILING - 9, CEILING - 1)
queues = st.lists(slurms | ours, max_size=30).map(lambda found: {f"j{n}": each for n, each in enumerate(found)})


@given(queues, st.randoms())
def test_afterwards_it_stands_in_order_and_nothing_is_left_to_change(shown, chance):
    order = list(shown)
    chance.shuffle(order)
    after = shown | dict(changes(order, shown))
    numbers = [after[job] for job in order]
    assert all(first > second for first, second in itertools.pairwise(numbers))
    assert all(is_ours(number) for number in numbers)
    assert changes(order, after) == []


@given(queues, st.randoms(), st.integers(1, 5))
def test_a_few_at_a_time_come_to_the_same_order(shown, chance, most):
    order = list(shown)
    chance.shuffle(order)
    now = dict(shown)
    for _ in range(4 * len(order) + 1):
        now |= dict(changes(order, now)[:most])
    assert changes(order, now) == []


def test_one_that_moves_costs_one_change():
    order = [f"j{n}" for n in range(100)]
    shown = dict(changes(order, dict.fromkeys(order, 100_000)))
    for place in (0, 50, 99):
        moved = [job for job in order if job != "j70"]
        moved.insert(place, "j70")
        assert [change.job for change in changes(moved, shown)] == ["j70"]
    assert changes([job for job in order if job != "j0"], shown) == [], "who starts moves nobody"
    assert [change.job for change in changes([*order, "new"], shown | {"new": 100_000})] == ["new"]


def test_who_does_not_wait_is_left_out():
    assert [change.job for change in changes(["a", "b"], {"b": 7})] == ["b"]
