"""What a plan is made from: one pool of one cluster at one instant, as values. Pure.

Amounts are milli-GPUs and GPU-milliseconds, instants epoch seconds. Accounts are named as they are booked: a leaf, or
the own part `.` of an account with children. `ledger` knows where these come from; nothing here asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Protocol

from ledger.ranking import Ratio
from ledger.tree import lineage


def path_of(account: str) -> tuple[str, ...]:
    """An account and all above it, the root first; empty for work that no budget pays for."""
    return tuple(lineage(account)) if account else ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node: what nobody holds of it, what runs that are ordered off still hold, and what is promised to an asker.

    `usable` is false for one that is down, drains, or whose maintenance is near: nothing is freed or held there.
    `closing` says that its maintenance alone is why.
    """

    name: str
    size_milli: int
    free_milli: int
    freeing_milli: int = 0
    promised_milli: int = 0
    usable: bool = True
    closing: bool = False

    @property
    def spare_milli(self) -> int:
        """What a new asker may count on without anybody yielding."""
        return max(0, self.free_milli + self.freeing_milli - self.promised_milli) if self.usable else 0


@dataclass(frozen=True, slots=True)
class Unit:
    """What yields as one: a run, or a gang with all its runs. Units that are ordered off already are left out.

    `account` is '' where no budget pays. `contract_end_s` is when its minimum runtime is banked, the last of a gang's.
    `lost_gpu_ms` is the work that would be lost now: since the checkpoint if it is resumable, else since the start.
    `preempted_today` counts preemptions of class 1 and 2 of its lineage in the last 24 h.
    """

    name: str
    runs: tuple[tuple[str, str], ...]
    account: str
    placements: tuple[tuple[str, int], ...]
    started_s: int
    contract_end_s: int
    lost_gpu_ms: int
    priority: int = 0
    preempted_today: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Its account and all above it, the root first."""
        return path_of(self.account)

    @property
    def gpus_milli(self) -> int:
        """All it holds."""
        return sum(milli for _, milli in self.placements)


def by_node(units: Iterable[Unit]) -> dict[str, int]:
    """Milli-GPUs that units hold, by node."""
    found: dict[str, int] = {}
    for unit in units:
        for node, milli in unit.placements:
            found[node] = found.get(node, 0) + milli
    return found


@dataclass(frozen=True, slots=True)
class Asker:
    """Work that waits and asks for GPUs: `pieces` of `piece_milli` each, at most one on a node if `apart`.

    `since_s` is the later of its submission and its last eviction, `not_before_s` the end of its back-off.
    `planned` says that an open plan is for it already.
    """

    job: str
    account: str
    pieces: int
    piece_milli: int
    min_runtime_s: int
    since_s: int
    apart: bool = True
    priority: int = 0
    debug: bool = False
    not_before_s: int = 0
    planned: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """Its account and all above it, the root first."""
        return path_of(self.account)

    @property
    def gpus_milli(self) -> int:
        """All it asks for."""
        return self.pieces * self.piece_milli

    def pieces_in(self, milli: int) -> int:
        """How many of its pieces a node holds that has so much for it."""
        fits = milli // self.piece_milli
        return min(fits, 1) if self.apart else fits

    @property
    def contract_gpu_ms(self) -> int:
        """What its contract binds once it runs."""
        return self.gpus_milli * self.min_runtime_s


class History(Protocol):
    """Use and claim over longer windows than the one the ratios are of."""

    def over(self, account: str, windows: Fraction) -> tuple[int, int]:
        """(delivered, claim) in GPU-milliseconds over so many times the window."""
        ...

    def covering(self, account: str, claim_gpu_ms: int, most: int) -> Fraction | None:
        """The shortest window, in windows and at most `most` of them, whose claim is at least that; None if none."""
        ...


NOTHING: Final = Ratio(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One pool at one instant. `askers` are in rank order; `ratios` and `running_milli` hold every account of a path.

    `ordered_s` are the instants of the orders that count against the limit of an hour, ascending.
    `shares` are the exact parts of the pool's healthy capacity that accounts have now, `running_milli` the GPUs their
    funded runs hold, both with everything below. `limits_milli` are slot limits,
    `debug_milli` what an account's debug runs hold inside their contracts.
    """

    cluster: str
    pool: str
    seq: int
    at_s: int
    nodes: tuple[Node, ...]
    units: tuple[Unit, ...]
    askers: tuple[Asker, ...]
    ratios: Mapping[str, Ratio]
    shares: Mapping[str, Fraction]
    running_milli: Mapping[str, int]
    history: History
    limits_milli: Mapping[str, int] = field(default_factory=dict)
    debug_milli: Mapping[str, int] = field(default_factory=dict)
    ordered_s: tuple[int, ...] = ()

    def ratio(self, account: str) -> Ratio:
        """ρ of an account; 0 of one that nothing is known of."""
        return self.ratios.get(account, NOTHING)

    @property
    def healthy_milli(self) -> int:
        """GPUs of usable nodes."""
        return sum(node.size_milli for node in self.nodes if node.usable)
