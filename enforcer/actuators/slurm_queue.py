"""Slurm's queue in the order of ours, where that is asked for: the priority of a waiting job from its rank."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Protocol

from enforcer.actuators.slurm import Failed
from enforcer.numbering import Change, changes, is_ours
from enforcer.orders import UNREACHABLE
from ledger.acts import ENFORCE
from ledger.standing import queue
from ledger.state import State

LOG: Final = logging.getLogger(__name__)
EVERY_S: Final = 5
"""Between two rounds."""
AGAIN_S: Final = 60
"""After so long Slurm is looked at again though our order is the same: somebody else may have changed its own."""
MOST: Final = 50
"""Jobs of one round, the first in line first: a call takes Slurm 10 ms, and whoever asks waits meanwhile."""


class Priorities(Protocol):
    """The calls to Slurm, for whole jobs: arrays and heterogeneous jobs by their own number."""

    def priorities(self) -> Mapping[str, int] | Failed:
        """Of the jobs that wait and are not held."""
        ...

    def prioritise(self, job: str, priority: int, /) -> Failed | None:
        """Fix a priority; one that was held meanwhile is refused."""
        ...

    def give_back(self, jobs: Sequence[str], /) -> Failed | None:
        """Let Slurm reckon their priorities again."""
        ...


@dataclass(slots=True)
class Publishing:
    """One cluster's queue. What it remembers spares calls; what is published stands in Slurm alone.

    Where it is not `wanted`, or the cluster does not enforce, it gives back what was published before.
    """

    slurm: Priorities
    wanted: bool
    _next_s: int = 0
    _again_s: int = 0
    _looked_at: int = -1
    _order: list[list[str]] = field(default_factory=list)
    _trouble: str = ""

    def look(self, state: State, now_s: int) -> None:
        """One round, if one is due."""
        if now_s < self._next_s or (state.ticked_s == self._looked_at and now_s < self._again_s):
            return  # the order is that of the last tick
        publishes = self.wanted and state.policy_at(now_s).enforcement == ENFORCE
        order = [list(jobs) for jobs in _in_order(state)] if publishes else []
        self._looked_at, self._next_s = state.ticked_s, now_s + EVERY_S
        if order == self._order and now_s < self._again_s:
            return
        if self._round(state.cluster, order, publishes=publishes):
            self._order, self._again_s = order, now_s + AGAIN_S
        else:
            self._looked_at = -1

    def _round(self, cluster: str, order: list[list[str]], *, publishes: bool) -> bool:
        """Whether Slurm's queue is as it should be now."""
        shown = self.slurm.priorities()
        if isinstance(shown, Failed):
            return self._failed(cluster, shown)
        if not publishes:
            return self._given_back(cluster, sorted(job for job, priority in shown.items() if is_ours(priority)))
        wanted = [change for jobs in order for change in changes(jobs, shown)]
        return self._published(cluster, wanted[:MOST]) and len(wanted) <= MOST

    def _published(self, cluster: str, wanted: Sequence[Change]) -> bool:
        refused = None
        for job, priority in wanted:
            failed = self.slurm.prioritise(job, priority)
            if failed is not None and failed.name == UNREACHABLE:
                return self._failed(cluster, failed)
            refused = failed or refused
        if refused is not None:  # it began, ended or was held since the look; or nobody here may do this
            return self._failed(cluster, refused)
        if wanted:
            LOG.info("%s: %s waiting jobs were put into order", cluster, len(wanted))
        self._trouble = ""
        return True

    def _given_back(self, cluster: str, jobs: Sequence[str]) -> bool:
        failed = self.slurm.give_back(jobs) if jobs else None
        if failed is not None:
            return self._failed(cluster, failed)
        if jobs:
            LOG.info("%s: the priorities of %s waiting jobs are Slurm's own again", cluster, len(jobs))
        self._trouble = ""
        return True

    def _failed(self, cluster: str, failed: Failed) -> bool:
        """Say so, once while it lasts."""
        if failed.sentence != self._trouble:
            LOG.warning("%s: the order of the queue is not published: %s", cluster, failed.sentence)
        self._trouble = failed.sentence
        return False


def _in_order(state: State) -> Iterator[dict[str, None]]:
    """The jobs of each pool that have a place in line, as the scheduler numbers them, each once."""
    ranked = (entry for entry in queue(state) if entry.ranked is not None)
    for _, entries in groupby(ranked, key=lambda entry: entry.pool):
        yield {base_of(entry.job.job): None for entry in entries}


def base_of(job: str) -> str:
    """The number of an array or a heterogeneous job: `12` of `12_3` and `12+1`."""
    return job.partition("_")[0].partition("+")[0]
