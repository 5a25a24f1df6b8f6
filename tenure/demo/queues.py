"""Who waits in one pool: funded work by account, unfunded work by size."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Final, TypeAlias

from tenure.demo.running import Case

Entry: TypeAlias = tuple[tuple[int, ...], Case]
"""A sort key, unique by the job's number, and the case."""

DEPTH: Final = 10
"""How far down an account's queue a pass looks for something that fits."""


class Queues:
    """Waiting cases of one pool, each line in its order."""

    __slots__ = ("funded", "unfunded")

    def __init__(self) -> None:
        self.funded: dict[str, list[Entry]] = {}
        self.unfunded: dict[int, list[Entry]] = {}

    def join(self, case: Case) -> None:
        """Put `case` in its place."""
        case.waiting = True
        insort(self._line(case), (_key(case), case), key=itemgetter(0))

    def leave(self, case: Case) -> None:
        """Take `case` out; it must be waiting."""
        case.waiting = False
        line = self._line(case)
        position = bisect_left(line, _key(case), key=itemgetter(0))
        assert line[position][1] is case, "a case leaves the line it joined"
        del line[position]

    def waiting_accounts(self) -> list[str]:
        """Accounts with funded work waiting."""
        return [account for account, line in self.funded.items() if line]

    def first(self, account: str) -> Iterator[Case]:
        """The first funded cases of `account`, best first."""
        for _, case in self.funded[account][:DEPTH]:
            yield case

    def oldest_unfunded(self) -> list[Case]:
        """The first unfunded case of each size, longest waiting first."""
        return [case for _, case in sorted((line[0] for line in self.unfunded.values() if line), key=_by_wait)]

    def _line(self, case: Case) -> list[Entry]:
        job = case.job
        if job.funded:
            return self.funded.setdefault(job.ask.account or "", [])
        return self.unfunded.setdefault(job.gpus, [])


def _key(case: Case) -> tuple[int, ...]:
    """Funded: priority, then debug runs, then submission. Unfunded: submission. The number ends ties."""
    job = case.job
    if not job.funded:
        return (job.submit_s, job.number)
    return (-job.ask.priority, 0 if job.ask.kind == "debug" else 1, job.submit_s, job.number)


def _by_wait(entry: Entry) -> tuple[int, ...]:
    return entry[0]
