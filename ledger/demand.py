"""How much funded work wanted to run: who counts, and how slot limits cut it (docs/accounting.md §5). Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ledger.statements import Terms

Limits = tuple[tuple[str, int], ...]
"""(limited account, milli-GPUs), root first."""


class Health(NamedTuple):
    """Healthy nodes of a pool at an instant: their sizes ascending, and the sum, milli-GPUs."""

    sizes_milli: tuple[int, ...]
    total_milli: int


NO_NODES = Health((), 0)


class Asker(NamedTuple):
    """One job's demand over [a, b): milli-GPUs booked to an account, running or waiting since `submitted_s`."""

    a_s: int
    b_s: int
    milli: int
    account: str
    running: bool
    submitted_s: int
    job: str


def placeable(terms: Terms, health: Health) -> bool:
    """Whether enough healthy nodes exist for the job, whoever runs on them."""
    if terms.shape_nodes:
        big_enough = len(health.sizes_milli) - bisect_left(health.sizes_milli, terms.shape_gpus_milli)
        return big_enough >= terms.shape_nodes
    return health.total_milli >= terms.gpus_milli


def total(askers: Iterable[Asker], a_s: int, b_s: int) -> dict[str, int]:
    """Demand per account over [a, b) without limits, GPU-milliseconds."""
    sums: dict[str, int] = {}
    for asker in askers:
        amount = asker.milli * (min(asker.b_s, b_s) - max(asker.a_s, a_s))
        sums[asker.account] = sums.get(asker.account, 0) + amount
    return sums


def admitted(
    askers: Sequence[Asker], limits_at: Callable[[str, int], Limits], a_s: int, b_s: int, edges: Iterable[int]
) -> dict[str, int]:
    """Demand per account over [a, b) where limits hold: running first, then by submit time and job, whole jobs."""
    cuts = {a_s, b_s, *edges}
    for asker in askers:
        cuts.update(at for at in (asker.a_s, asker.b_s) if a_s < at < b_s)
    instants = sorted(cuts)
    ordered = sorted(askers, key=lambda k: (not k.running, k.submitted_s, k.job))
    sums: dict[str, int] = {}
    for a, b in pairwise(instants):
        counted: dict[str, int] = {}
        for asker in ordered:
            if not asker.a_s <= a < asker.b_s:
                continue
            limits = limits_at(asker.account, a)
            if not asker.running and any(counted.get(x, 0) + asker.milli > most for x, most in limits):
                continue
            for limited, _ in limits:
                counted[limited] = counted.get(limited, 0) + asker.milli
            sums[asker.account] = sums.get(asker.account, 0) + asker.milli * (b - a)
    return sums
