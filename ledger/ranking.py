"""Ranking says who is next: accounts by what they used of their claim, jobs inside one by its own order.

One instant, one pool (cluster and GPU type), exact integers throughout; docs/ranking.md has a worked example.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, total_ordering
from itertools import chain
from math import gcd, inf, isqrt
from operator import itemgetter
from typing import Final, assert_never

from ledger.units import GPU_MILLI

WINDOW_H: Final = 168
HALF_LIFE_H: Final = WINDOW_H // 2
WEIGHT_BITS: Final = 32
GUARD_BITS: Final = 64

DEBUG_MAX_GPUS_MILLI: Final = 8 * GPU_MILLI
DEBUG_MAX_MIN_RUNTIME_S: Final = 15 * 60

OWN_PART: Final = "."


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """ρ = (used + committed) / claim, compared exactly, by cross multiplication.

    All three in GPU-milliseconds (or any one unit). Without a claim it is infinite when anything is used or
    committed, else 0. Equal values are equal and hash alike whatever their terms: 1/2 is 2/4, and all
    infinities are one.
    """

    used_gpu_ms: int
    committed_gpu_ms: int
    claim_gpu_ms: int

    def __post_init__(self) -> None:
        if min(self.used_gpu_ms, self.committed_gpu_ms, self.claim_gpu_ms) < 0:
            raise ValueError(f"a ratio has no negative terms: {self!r}")

    @property
    def terms(self) -> tuple[int, int]:
        """Numerator and denominator, not reduced; infinity is (1, 0)."""
        numerator = self.used_gpu_ms + self.committed_gpu_ms
        if self.claim_gpu_ms:
            return numerator, self.claim_gpu_ms
        return (1, 0) if numerator else (0, 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratio):
            return NotImplemented
        mine, theirs = self._crossed(other)
        return mine == theirs

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Ratio):
            return NotImplemented
        mine, theirs = self._crossed(other)
        return mine < theirs

    def _crossed(self, other: "Ratio") -> tuple[int, int]:
        numerator, denominator = self.terms
        other_numerator, other_denominator = other.terms
        return numerator * other_denominator, other_numerator * denominator

    def __hash__(self) -> int:
        numerator, denominator = self.terms
        common = gcd(numerator, denominator)
        return hash((numerator // common, denominator // common))

    def display(self) -> float:
        """The nearest float, for people and charts only; may be infinite."""
        numerator, denominator = self.terms
        return numerator / denominator if denominator else inf

    def as_fraction(self) -> Fraction:
        """The exact value. Raises OverflowError when infinite, as a float does."""
        numerator, denominator = self.terms
        if not denominator:
            raise OverflowError(f"cannot express infinity as a fraction: {self!r}")
        return Fraction(numerator, denominator)


@dataclass(frozen=True, slots=True)
class Sliding:
    """Every hour of the window counts in full, every earlier one not at all."""

    window_h: int = WINDOW_H

    def __post_init__(self) -> None:
        if self.window_h < 1:
            raise ValueError(f"a window is at least 1 h, not {self.window_h} h")


@dataclass(frozen=True, slots=True)
class Decay:
    """An hour counts half as much as one a half-life later."""

    half_life_h: int = HALF_LIFE_H

    def __post_init__(self) -> None:
        if self.half_life_h < 1:
            raise ValueError(f"a half-life is at least 1 h, not {self.half_life_h} h")


Weighting = Sliding | Decay


def weight(age_h: int, half_life_h: int) -> int:
    """How much an hour counts: floor(2^32 × 2^(−age / half-life)), 2^32 for the current one.

    Whole half-lives are shifts: the floor of a floored number over 2^q is the floor of the number over 2^q.
    """
    halvings, rest_h = divmod(age_h, half_life_h)
    return _weight_within(rest_h, half_life_h) >> halvings


@lru_cache(maxsize=16_384)
def _weight_within(rest_h: int, half_life_h: int, guard_bits: int = GUARD_BITS) -> int:
    """The weight for an age below one half-life.

    Bounds tighten until both have one floor, as they must: a broken power of two is irrational. A float's
    power would not do, its last bits depend on the machine's libm.
    """
    if rest_h == 0:
        return 1 << WEIGHT_BITS
    low, high = _bounds(rest_h, half_life_h, WEIGHT_BITS + guard_bits)
    if low >> guard_bits == high >> guard_bits:
        return low >> guard_bits
    return _weight_within(rest_h, half_life_h, 2 * guard_bits)


def _bounds(rest_h: int, half_life_h: int, bits: int) -> tuple[int, int]:
    """Integers below and above 2^bits × 2^(−rest / half-life), for 0 < rest < half-life.

    The binary digits of rest / half-life choose the factors from 2^(−1/2), 2^(−1/4), …, each the integer
    square root of the one before and less than 3 short. A product is then short by less than 4 more, and
    there are at most `bits` of them; the digits left off make it less than 1 too great.
    """
    value, factor = 1 << bits, 1 << (bits - 1)
    for _ in range(bits):
        factor = isqrt(factor << bits)
        digit, rest_h = divmod(2 * rest_h, half_life_h)
        if digit:
            value = value * factor >> bits
    return value - 1, value + 4 * bits


def weighted_sum(hours: Iterable[tuple[int, int]], at_hour: int, weighting: Weighting) -> int:
    """What (hour, amount) pairs come to as seen from `at_hour`, the open hour whose amount is provisional.

    Hours count from any one epoch; amounts and the result are GPU-milliseconds. Later hours are left out. The
    order of the pairs does not matter; the result is floored once, at the end. Delivered time and claims are
    both weighted; commitments lie ahead and never are.
    """
    past = ((at_hour - hour, amount) for hour, amount in hours if hour <= at_hour)
    match weighting:
        case Sliding(window_h):
            return sum(amount for age_h, amount in past if age_h <= window_h)
        case Decay(half_life_h):
            return sum(amount * weight(age_h, half_life_h) for age_h, amount in past) >> WEIGHT_BITS
        case _:
            assert_never(weighting)


@dataclass(frozen=True, slots=True)
class Pending:
    """A job that waits.

    `account` is None when no budget pays for it; a greater `priority` goes first inside its account;
    `submitted_s` is in seconds since any one epoch.
    """

    job: str
    account: str | None
    priority: int
    gpus_milli: int
    min_runtime_s: int
    submitted_s: int
    kind: str = "batch"

    @property
    def funded(self) -> bool:
        """Whether it takes part in fair share: a budget pays, and it declares a minimum runtime."""
        return self.account is not None and self.min_runtime_s > 0

    @property
    def is_debug(self) -> bool:
        """Small and short by contract, whatever its kind: at most 8 GPUs for at most 15 minutes."""
        return is_debug(self.gpus_milli, self.min_runtime_s)


def is_debug(gpus_milli: int, min_runtime_s: int) -> bool:
    """Small and short by contract: at most 8 GPUs for at most 15 minutes."""
    return gpus_milli <= DEBUG_MAX_GPUS_MILLI and 0 < min_runtime_s <= DEBUG_MAX_MIN_RUNTIME_S


@dataclass(frozen=True, slots=True)
class Ranked:
    """A job's place in the queue, and why.

    `position` and `tie_group` count from 1. `path` is the sort key: each account from the root down with
    its ρ; empty for unfunded work, which is one last tie group.
    """

    position: int
    job: Pending
    tie_group: int
    path: tuple[tuple[str, Ratio], ...]


def rank(ratios: Mapping[str, Ratio], pending: Iterable[Pending]) -> tuple[Ranked, ...]:
    """Put pending work in the one order that everybody can check.

    `ratios` holds ρ for every account on the path of a funded job, its leaf included; others are ignored. A
    job that names an interior account competes as that account's own part, the child `.`.

    1. From the root down the lower ρ goes first. Equal ρ are ties: their subtrees merge (see `tie_groups`).
    2. Inside one leaf: priority, debug runs, submit time, id.
    3. Leaves in one tie group share its places. Places go by submit time, then id, whatever the priority;
       each leaf fills its own places in its own order. So no priority and no debug run of one account ever
       moves a job of another.
    4. Unfunded work last, by submit time, then id.

    Raises ValueError for a ratio that is missing, a job id that repeats, a leaf with accounts below it.
    """
    jobs = sorted(pending, key=_arrival)
    _assert_ids_unique(jobs)
    queues: defaultdict[str, list[Pending]] = defaultdict(list)
    for job in jobs:
        if job.account is not None and job.funded:
            queues[_leaf(job.account, ratios)].append(job)
    paths = {leaf: _path(leaf, ratios) for leaf in queues}
    _assert_leaves(paths)

    groups = tie_groups({leaf: tuple(ratio for _, ratio in path) for leaf, path in paths.items()})
    lines = [_share_places({leaf: queues[leaf] for leaf in group}) for group in groups]
    places = [(number, paths[leaf], job) for number, line in enumerate(lines, 1) for leaf, job in line]
    places += [(len(groups) + 1, (), job) for job in jobs if not job.funded]
    return tuple(Ranked(at, job, number, path) for at, (number, path, job) in enumerate(places, 1))


def tie_groups(paths: Mapping[str, tuple[Ratio, ...]]) -> list[list[str]]:
    """Order leaves by the ρ of their path, root first and the leaf's own last; equal ones share a group.

    Walking a tree depth first, with the children of tied siblings merged into one level, is sorting the
    paths as words. A leaf tied with an interior account has a path that begins the other's, and shares the
    group of the best leaf below it. Groups come best first; inside one the shallower path first, then the
    name.
    """
    groups: list[list[str]] = []
    before: tuple[Ratio, ...] | None = None
    for leaf in sorted(paths, key=lambda leaf: (paths[leaf], leaf)):
        path = paths[leaf]
        if before is not None and path[: len(before)] == before:
            groups[-1].append(leaf)
        else:
            groups.append([leaf])
        before = path
    return groups


def _share_places(queues: Mapping[str, Sequence[Pending]]) -> list[tuple[str, Pending]]:
    """One line for the tied leaves' queues: places by arrival, filled by each leaf in its own order."""
    places = [
        (_arrival(place), leaf, job)
        for leaf, queue in queues.items()
        for place, job in zip(sorted(queue, key=_arrival), sorted(queue, key=_own_order), strict=True)
    ]
    return [(leaf, job) for _, leaf, job in sorted(places, key=itemgetter(0))]


def _arrival(job: Pending) -> tuple[int, str]:
    return job.submitted_s, job.job


def _own_order(job: Pending) -> tuple[int, bool, tuple[int, str]]:
    return -job.priority, not job.is_debug, _arrival(job)


def _leaf(account: str, ratios: Mapping[str, Ratio]) -> str:
    own_part = f"{account}/{OWN_PART}"
    return own_part if own_part in ratios else account


def _ancestry(account: str) -> list[str]:
    """The account and all above it, root first."""
    parts = account.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _path(leaf: str, ratios: Mapping[str, Ratio]) -> tuple[tuple[str, Ratio], ...]:
    accounts = _ancestry(leaf)
    missing = [account for account in accounts if account not in ratios]
    if missing:
        raise ValueError(f"work is pending in {leaf} but no ratio is given for {', '.join(missing)}")
    return tuple((account, ratios[account]) for account in accounts)


def _assert_leaves(leaves: Iterable[str]) -> None:
    interior = set(chain.from_iterable(_ancestry(leaf)[:-1] for leaf in leaves))
    for leaf in leaves:
        if leaf in interior:
            raise ValueError(f"{leaf} has accounts below it: the ratio of {leaf}/{OWN_PART} is missing")


def _assert_ids_unique(jobs: Sequence[Pending]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.job in seen:
            raise ValueError(f"job {job.job} is pending twice")
        seen.add(job.job)
