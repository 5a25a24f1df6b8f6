"""A run's pauses out of what two polls saw: exact where one pause was missed between them, in sum where more were.

The controller tells when a job was last suspended or resumed, and how long it had run before its last suspension.
Both together give the time it has not run so far, also through pauses that no poll saw.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.sources.slurm.live.cursor import Pauses


def follow(told: Pauses, start_s: int, *, suspended: bool, changed_s: int | None, ran_s: int) -> Pauses:
    """The pauses as the controller tells now; those told before stay, the open one may be closed."""
    if changed_s is None or changed_s <= start_s:
        return told
    closed, since_s = _parted(told)
    missing_s = max(0, changed_s - start_s - ran_s) - _sum_s(closed)
    floor_s = closed[-1][1] or start_s if closed else start_s
    if since_s is not None:
        if suspended and since_s == changed_s:
            return told
        resumed_s = min(max(since_s + missing_s, since_s), changed_s)
        ended = (*closed, (since_s, resumed_s))
        return (*ended, (changed_s, None)) if suspended else ended
    begin_s = max(changed_s - max(0, missing_s), floor_s)
    if suspended:
        return (*closed, (begin_s, None))
    return (*closed, (begin_s, changed_s)) if begin_s < changed_s else told


def settle(told: Pauses, start_s: int, end_s: int, total_s: int) -> Pauses:
    """The pauses of a run that is over, with the sum that is known: what no poll saw is placed before the end."""
    known = tuple((a, end_s if b is None else min(b, end_s)) for a, b in told if a < end_s)
    excess_s = _sum_s(known) - total_s
    while known and excess_s > 0:
        a, b = known[-1]
        length_s = max(0, b - a - excess_s)
        excess_s -= b - a - length_s
        known = known[:-1] if length_s == 0 else (*known[:-1], (a, a + length_s))
    missing_s = total_s - _sum_s(known)
    if missing_s <= 0:
        return known
    floor_s = known[-1][1] if known else start_s
    if end_s - floor_s >= missing_s:
        return (*known, (end_s - missing_s, end_s))
    return ((max(start_s, end_s - total_s), end_s),)


def total_s(told: Pauses, end_s: int) -> int:
    """Seconds it did not run before its end."""
    return sum(max(0, (end_s if b is None else min(b, end_s)) - a) for a, b in told)


def turns(before: Pauses, after: Pauses) -> Iterator[tuple[int, int, bool]]:
    """(second, rank among those of one second, whether it suspends) of every turn that is new in `after`."""
    last_s, rank = -1, 0
    for place, (since_s, until_s) in enumerate(after):
        for at_s, suspends in ((since_s, True), (until_s, False)):
            if at_s is None:
                continue
            rank = rank + 1 if at_s == last_s else 0
            last_s = at_s
            known = place < len(before) and (suspends or before[place][1] is not None)
            if not known:
                yield at_s, rank, suspends


def _parted(told: Pauses) -> tuple[Pauses, int | None]:
    """The pauses that are over, and since when one lasts."""
    if told and told[-1][1] is None:
        return told[:-1], told[-1][0]
    return told, None


def _sum_s(closed: Pauses) -> int:
    return sum((b or a) - a for a, b in closed)
