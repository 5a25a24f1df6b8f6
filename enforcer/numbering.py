"""Priorities that put a scheduler's queue into our order, by the fewest changes. Pure.

A scheduler that starts the highest number first is given numbers of a range of their own, far above those it makes
itself. What stands in order there stays as it is; what does not gets a number between its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

FLOOR: Final = 2_000_000_000
CEILING: Final = 4_000_000_000
"""Slurm's numbers have 32 bits. priority/multifactor stays below its weights' sum, priority/basic above the ceiling."""
STEP: Final = 1 << 16
"""Room to the next one, so that sixteen may come in between at one place before all are numbered anew."""


class Change(NamedTuple):
    """A job, and the number it is to have."""

    job: str
    priority: int


def is_ours(priority: int) -> bool:
    """Whether a priority was given by this module."""
    return FLOOR < priority < CEILING


def changes(order: Sequence[str], shown: Mapping[str, int]) -> list[Change]:
    """What to change so that jobs stand in `order`, first first; `shown` are the priorities they have now.

    Jobs that are not shown are left out; those that are shown and not in the order keep what they have.
    """
    jobs = [job for job in order if job in shown]
    standing = _standing([shown[job] for job in jobs])
    numbers = [shown[job] if place in standing else None for place, job in enumerate(jobs)]
    wanted = _filled(numbers) or _anew(len(jobs))
    return [Change(job, number) for job, number in zip(jobs, wanted, strict=True) if shown[job] != number]


def _standing(priorities: Sequence[int]) -> set[int]:
    """Places of the longest row of our numbers that goes down already."""
    ends: list[int] = []  # of the best row of each length: its last number, negated, and its place
    places: list[int] = []
    before: dict[int, int | None] = {}
    for place, priority in enumerate(priorities):
        if not is_ours(priority):
            continue
        length = bisect_left(ends, -priority)
        before[place] = places[length - 1] if length else None
        ends[length : length + 1] = [-priority]
        places[length : length + 1] = [place]
    found: set[int] = set()
    last = places[-1] if places else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _filled(numbers: Sequence[int | None]) -> list[int] | None:
    """The row with its gaps filled, or None where there is no room for that."""
    filled: list[int] = []
    above = CEILING
    place = 0
    while place < len(numbers):
        number = numbers[place]
        if number is not None:
            filled.append(number)
            above, place = number, place + 1
            continue
        end = next((at for at in range(place, len(numbers)) if numbers[at] is not None), len(numbers))
        many = end - place
        below = numbers[end] if end < len(numbers) else FLOOR
        assert below is not None
        if above == CEILING and below == FLOOR:
            return None  # nobody stands: all are new
        step = min((above - below) // (many + 1), STEP)
        if not step:
            return None
        first = below + step * many if above == CEILING else above - step
        filled += [first - step * n for n in range(many)]
        place = end
    return filled


def _anew(many: int) -> list[int]:
    """Numbers around the middle, so that both ends may grow."""
    step = max(1, min(STEP, (CEILING - FLOOR) // (many + 1)))
    first = (FLOOR + CEILING) // 2 + step * many // 2
    return [first - step * n for n in range(many)]
